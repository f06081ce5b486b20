//! Each check fails for the service with its fault, and no other check does.

use std::time::Duration;

use formsvc_contract::api::{API_CHECKS, ApiOptions, ForeignCursors, LimitOverMax, RetryAfterForm};
use formsvc_contract::report::Outcome;

use super::fake::Fake;
use super::{ids, options, run, run_only};

#[tokio::test(flavor = "multi_thread")]
async fn api_check_fails_for_its_fault_only() {
    for check in API_CHECKS {
        let fake = Fake::start(check.info.id).await;
        let mut options = options(&fake.url);
        options.spend_quota = check.info.flag == Some("--spend-quota");
        let results = run(&options).await;
        assert_eq!(ids(&results, Outcome::Failed), [check.info.id], "{:#?}", results.reports);
        let report =
            results.reports.iter().find(|report| report.outcome == Outcome::Failed).unwrap();
        let request = report.request.as_deref().unwrap();
        println!("| `{}` | {} | {request} |", check.info.id, report.found);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_probe_answered_wrongly_fails_a_check() {
    for (fault, wanted) in [
        ("500 limit=1", &["limit"][..]),
        ("500 limit=2", &["cursor"]),
        ("500 limit=4", &["cursor"]),
        ("500 limit=100", &["limit-maximum", "list-end"]),
        ("500 limit=101", &["limit-above-maximum"]),
        ("500 limit=many", &["bad-request"]),
        ("500 cursor=yesterday", &["bad-request"]),
        ("500 cursor", &["cursor", "list-end", "bad-request"]),
        ("three for two", &["cursor"]),
        ("repeats", &["same-list"]),
    ] {
        let fake = Fake::start(fault).await;
        let results = run(&options(&fake.url)).await;
        assert_eq!(ids(&results, Outcome::Failed), wanted, "{fault}: {:#?}", results.reports);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn form_id_of_any_text_is_percent_encoded() {
    let fake = Fake::start("odd ids").await;
    let mut options = options(&fake.url);
    let results = run_only(&options, &["submissions"]).await;
    assert_eq!(ids(&results, Outcome::Passed), ["submissions"], "{:#?}", results.reports);
    let request = results.reports[0].request.as_deref().unwrap();
    let path = "GET /api/v1/forms/q7%2F1%3D%0A%3F%20%C3%A9/submissions";
    assert!(request.starts_with(path), "{request}");
    // A path cannot contain it: the request would be another.
    options.form = Some("..".to_owned());
    let results = run_only(&options, &["submissions"]).await;
    let rule = "the form id `..` cannot be a segment of a path";
    assert_eq!(results.reports[0].found, rule);
}

#[tokio::test(flavor = "multi_thread")]
async fn api_checks_pass_for_a_service_without_fault() {
    let fake = Fake::start("").await;
    let mut options = options(&fake.url);
    options.spend_quota = true;
    let results = run(&options).await;
    assert_eq!(ids(&results, Outcome::Passed).len(), API_CHECKS.len(), "{:#?}", results.reports);
    let profile = &results.profile;
    assert_eq!((profile.time_digits, profile.cursor_digits), (Some(3), Some(3)));
    assert_eq!(profile.times_are_whole_seconds, Some(true));
    assert_eq!(profile.cursor_is_created_at, Some(true));
    assert_eq!(profile.foreign_cursors, Some(ForeignCursors::Accepted));
    assert_eq!(profile.limit_over_max, Some(LimitOverMax::Refused));
    assert_eq!(profile.retry_after, Some(RetryAfterForm::Seconds));
    assert_eq!((profile.compression.as_deref(), profile.keeps_connections), (None, Some(true)));
    assert!(profile.header_names.contains("content-type"), "{profile:?}");
    let json = serde_json::to_string(profile).unwrap();
    assert_eq!(&serde_json::from_str::<formsvc_contract::api::Profile>(&json).unwrap(), profile);
}

#[tokio::test(flavor = "multi_thread")]
async fn optional_checks_are_skipped_without_their_option() {
    let fake = Fake::start("").await;
    let mut options = options(&fake.url);
    (options.revoked_key, options.foreign_form) = (None, None);
    let results = run(&options).await;
    let optional: Vec<_> = API_CHECKS.iter().filter(|check| check.info.flag.is_some()).collect();
    let skipped = ids(&results, Outcome::Skipped);
    assert_eq!(skipped, optional.iter().map(|check| check.info.id).collect::<Vec<_>>());
    for report in results.reports.iter().filter(|report| report.outcome == Outcome::Skipped) {
        assert!(report.found.contains(report.check.flag.unwrap()), "{report:?}");
    }
    assert!(fake.requests() < 60, "{} requests", fake.requests());
}

#[tokio::test(flavor = "multi_thread")]
async fn check_of_one_id_sends_only_its_requests() {
    let fake = Fake::start("").await;
    let results = run_only(&options(&fake.url), &["me"]).await;
    assert_eq!((ids(&results, Outcome::Passed), results.reports.len()), (vec!["me"], 1));
    assert_eq!(fake.requests(), 1);
    let profile = &results.profile;
    assert_eq!((profile.foreign_cursors, profile.limit_over_max), (None, None));
    assert_eq!((profile.cursor_digits, profile.keeps_connections), (None, Some(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_time_limit_skips_checks_without_requests() {
    let fake = Fake::start("").await;
    let options = ApiOptions { time_limit: Duration::ZERO, ..options(&fake.url) };
    let results = run(&options).await;
    assert_eq!(ids(&results, Outcome::Skipped).len(), API_CHECKS.len(), "{:#?}", results.reports);
    assert_eq!(fake.requests(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn opaque_cursors_are_reported_in_the_profile() {
    let fake = Fake::start("cursor-time").await;
    let results = run(&options(&fake.url)).await;
    assert_eq!(results.profile.foreign_cursors, Some(ForeignCursors::Refused));
    assert_eq!(results.profile.cursor_is_created_at, Some(false));
}
