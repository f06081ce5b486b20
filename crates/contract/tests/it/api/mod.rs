//! Checks of the API: each fails for a service with one fault, and all pass for one without.

mod fake;
mod strangers;
mod teeth;

use std::time::Duration;

use formsvc_contract::api::{API_ANSWER_MAX, API_CHECKS, ApiOptions, ApiResults, Key, check_api};
use formsvc_contract::report::{CheckInfo, Outcome};
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use url::Url;

const KEY: &str = "fsk_a_valid_key";
const REVOKED_KEY: &str = "fsk_a_revoked_key";
const FOREIGN_FORM: &str = "frm_foreign";

fn options(base_url: &Url) -> ApiOptions {
    ApiOptions {
        base_url: base_url.clone(),
        key: Key::new(&KEY.into()).unwrap(),
        form: None,
        revoked_key: Some(Key::new(&REVOKED_KEY.into()).unwrap()),
        foreign_form: Some(FOREIGN_FORM.to_owned()),
        spend_quota: false,
        max_wait: Duration::from_secs(5),
        time_limit: Duration::from_secs(60),
    }
}

async fn run(options: &ApiOptions) -> ApiResults {
    run_only(options, &[]).await
}

/// Runs the checks with these ids; all of them if there are none.
async fn run_only(options: &ApiOptions, ids: &[&str]) -> ApiResults {
    let timeout = Duration::from_secs(5);
    let sender =
        HttpSenderOptions { timeout, answer_max: API_ANSWER_MAX, ..HttpSenderOptions::default() };
    let is_wanted = |check: &CheckInfo| ids.is_empty() || ids.contains(&check.id);
    check_api(&HttpSender::new(sender).unwrap(), options, is_wanted, |_| {}).await
}

fn ids(results: &ApiResults, outcome: Outcome) -> Vec<&'static str> {
    let reports = results.reports.iter().filter(|report| report.outcome == outcome);
    reports.map(|report| report.check.id).collect()
}

#[test]
fn check_ids_are_unique_and_texts_complete() {
    for (at, check) in API_CHECKS.iter().enumerate() {
        let info = &check.info;
        assert!(API_CHECKS[..at].iter().all(|other| other.info.id != info.id), "{}", info.id);
        assert!((2..=9).contains(&info.section), "{}", info.id);
        for text in [info.statement, info.fix] {
            assert!(!text.is_empty() && !text.ends_with('.') && !text.contains("  "), "{text}");
        }
    }
}
