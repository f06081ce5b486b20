//! Checks of the API: each fails for a service with one fault, and all pass for one without.

mod fake;
mod strangers;
mod teeth;

use std::time::Duration;

use formsvc_contract::api::{API_ANSWER_MAX, API_CHECKS, ApiOptions, ApiResults, Key, check_api};
use formsvc_contract::report::Verdict;
use formsvc_contract::send::{Sender, SenderOptions};
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
    let timeout = Duration::from_secs(5);
    let sender = SenderOptions { timeout, answer_max: API_ANSWER_MAX, ..SenderOptions::default() };
    check_api(&Sender::new(sender).unwrap(), options, |_| true, |_| {}).await
}

fn ids(results: &ApiResults, verdict: Verdict) -> Vec<&'static str> {
    let reports = results.reports.iter().filter(|report| report.verdict == verdict);
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
