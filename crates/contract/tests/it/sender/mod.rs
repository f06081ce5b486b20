//! Checks of a sender: each fails for a sender with one fault, and all pass for one without.

mod fake;

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use formsvc_contract::report::{Outcome, Report};
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_contract::sender::{
    SENDER_CHECKS, SenderEvent, SenderOptions, SenderResults, check_sender, submit,
};
use futures_util::future::join_all;
use tokio::net::TcpListener;
use url::Url;

const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const OTHER_SECRET: &str = "whsec_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB";
const API_KEY: &str = "fsk_a_valid_key";

fn options() -> SenderOptions {
    SenderOptions {
        secrets: vec![OTHER_SECRET.into(), SECRET.into()],
        masked: vec![API_KEY.into()],
        time_limit: Duration::from_secs(20),
        max_pause: None,
    }
}

/// Runs the checks against the sender with a fault.
async fn run(fault: &'static str, options: &SenderOptions) -> SenderResults {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap()).parse().unwrap();
    let submit = |event| {
        if event == SenderEvent::Waiting(3) {
            fake::deliver_submissions(fault, &url);
        }
    };
    check_sender(listener, options, |_| true, submit).await.unwrap()
}

fn with_outcome(results: &SenderResults, outcome: Outcome) -> Vec<&Report> {
    results.reports.iter().filter(|report| report.outcome == outcome).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_check_fails_for_its_fault_only() {
    let runs = SENDER_CHECKS.iter().map(|check| async move {
        let id = check.info.id;
        let mut options = options();
        if ["delivery", "retries"].contains(&id) {
            // The time until a missing delivery counts as missing.
            options.time_limit = Duration::from_secs(2);
        }
        let results = run(id, &options).await;
        let failed = with_outcome(&results, Outcome::Failed);
        let ids: Vec<_> = failed.iter().map(|report| report.check.id).collect();
        assert_eq!(ids, [id], "{:#?}", results.reports);
        println!("| `{id}` | {} |", failed[0].found);
    });
    join_all(runs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_checks_pass_for_a_sender_without_fault() {
    let results = run("", &options()).await;
    let passed = with_outcome(&results, Outcome::Passed);
    assert_eq!(passed.len(), SENDER_CHECKS.len(), "{:#?}", results.reports);
    assert_eq!((results.profile.attempts, results.profile.pauses_ms.len()), (4, 3));
    assert!(results.profile.header_names.contains(&"x-service-signature".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn sender_reports_contain_no_secret_of_the_run() {
    let results = run("sends-secrets", &options()).await;
    let failed = with_outcome(&results, Outcome::Failed);
    let ids: Vec<_> = failed.iter().map(|report| report.check.id).collect();
    assert_eq!(ids, ["delivery-user-agent"], "{:#?}", results.reports);
    assert_eq!(failed[0].found, "`user-agent` is `[secret] [secret] [secret]`");
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_old_and_stray_requests_decide_no_verdict() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url: Url = format!("http://{}/hook", listener.local_addr().unwrap()).parse().unwrap();
    let submit = |event| {
        if event == SenderEvent::Waiting(3) {
            let url = url.clone();
            tokio::spawn(async move {
                fake::send_strange_requests(&url).await;
                fake::deliver_submissions("", &url);
            });
        }
    };
    let results = check_sender(listener, &options(), |_| true, submit).await.unwrap();
    assert!(with_outcome(&results, Outcome::Failed).is_empty(), "{:#?}", results.reports);
    assert_eq!(results.reports[0].found, "3 submissions, 3 other requests ignored");
}

#[tokio::test]
async fn public_form_accepts_2xx_302_and_303_only() {
    for (status, is_accepted) in [(201, true), (302, true), (303, true), (301, false), (308, false)]
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/f/contact", listener.local_addr().unwrap()).parse().unwrap();
        let answer = (StatusCode::from_u16(status).unwrap(), [(LOCATION, "https://example.org/f")]);
        let router = Router::new().fallback(move || async move { answer });
        tokio::spawn(async move { axum::serve(listener, router).await });
        let sender = HttpSender::new(HttpSenderOptions::default()).unwrap();
        let submitted = submit(&sender, &url, "Name=Ada").await;
        assert_eq!(submitted.is_ok(), is_accepted, "{status}: {submitted:?}");
        if let Err(error) = submitted {
            assert!(error.to_string().contains("a redirect to https://example.org/f"), "{error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn max_pause_skips_checks_of_later_attempts() {
    let max_pause = Some(Duration::from_millis(20));
    let results = run("slow-retries", &SenderOptions { max_pause, ..options() }).await;
    let skipped = with_outcome(&results, Outcome::Skipped);
    let skipped: Vec<_> = skipped.iter().map(|report| report.check.id).collect();
    for id in ["retries", "backoff", "ends-after-retries", "retry-succeeds", "ends-after-2xx"] {
        assert!(skipped.contains(&id), "{id}: {skipped:?}");
    }
    assert!(with_outcome(&results, Outcome::Failed).is_empty(), "{:#?}", results.reports);
}
