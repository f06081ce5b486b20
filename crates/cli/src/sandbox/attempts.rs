//! What a sandbox tells of deliveries: one line an attempt, once it is over.

use std::collections::HashMap;

use formsvc_client::types::PublicId;
use formsvc_client::{Form, FormId};
use formsvc_server::delivery::{AttemptCode, AttemptObserver, AttemptOver};
use formsvc_server::store::Verdict;
use jiff::Timestamp;
use tokio::sync::mpsc;

use crate::base::sanitize::one_line;
use crate::base::text;

/// Lines that may wait for somebody to write them. Beyond, they are lost: a terminal that is stopped
/// must not hold up deliveries.
const WAITING_MAX: usize = 1_024;

/// Makes a line of every attempt.
pub(super) struct Teller {
    /// What the forms are called; one that was made later goes by its id.
    names: HashMap<FormId, PublicId>,
    lines: mpsc::Sender<String>,
}

impl Teller {
    /// One that knows some forms, and where its lines come out.
    pub(super) fn of(forms: &[Form]) -> (Self, mpsc::Receiver<String>) {
        let (lines, told) = mpsc::channel(WAITING_MAX);
        let names = forms.iter().map(|form| (form.id.clone(), form.public_id.clone())).collect();
        (Self { names, lines }, told)
    }
}

impl AttemptObserver for Teller {
    fn is_over(&self, attempt: &AttemptOver<'_>) {
        let form = self.names.get(attempt.form).map_or(attempt.form.as_str(), PublicId::as_str);
        let outcome = outcome(attempt.status, attempt.code.map(AttemptCode::as_str));
        let line = line(Timestamp::now(), form, attempt.url, &outcome, attempt.verdict);
        // Full, or nobody reads: see `WAITING_MAX`.
        let _ = self.lines.try_send(line);
    }
}

/// The status, and the code of a failure. That a status is not 2xx can be seen.
fn outcome(status: Option<u16>, code: Option<&str>) -> String {
    match (status, code) {
        (Some(status), None | Some("status_not_2xx")) => status.to_string(),
        (Some(status), Some(code)) => format!("{status} {code}"),
        (None, code) => code.unwrap_or("failed").to_owned(),
    }
}

/// `09:30:00Z contact -> http://localhost:9000/: connect_failed, again in 10 s`
fn line(now: Timestamp, form: &str, url: &str, outcome: &str, verdict: Verdict) -> String {
    let then = match verdict {
        Verdict::Delivered => String::new(),
        Verdict::Retry { after, .. } => format!(", again in {}", text::duration(after)),
        Verdict::Failed => ", given up".to_owned(),
        Verdict::Unchanged | Verdict::Release => ", not tried again".to_owned(),
    };
    let time = now.strftime("%H:%M:%SZ");
    one_line(&format!("{time} {form} -> {url}: {outcome}{then}")).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn told(url: &str, status: Option<u16>, code: Option<&str>, verdict: Verdict) -> String {
        let at: Timestamp = "2026-01-31T09:30:00.120Z".parse().unwrap();
        line(at, "contact", url, &outcome(status, code), verdict)
    }

    #[test]
    fn a_line_has_time_form_endpoint_outcome_and_what_comes_next() {
        let url = "http://localhost:9000/";
        let retry = |millis| Verdict::Retry { after: Duration::from_millis(millis), retries: 1 };
        for (status, code, verdict, expected) in [
            (Some(200), None, Verdict::Delivered, "200"),
            (None, Some("connect_failed"), retry(11_900), "connect_failed, again in 11.9 s"),
            (Some(503), Some("status_not_2xx"), retry(50), "503, again in 50 ms"),
            (Some(302), Some("redirected"), Verdict::Failed, "302 redirected, given up"),
            (None, Some("timeout"), Verdict::Unchanged, "timeout, not tried again"),
        ] {
            let line = told(url, status, code, verdict);
            assert_eq!(line, format!("09:30:00Z contact -> {url}: {expected}"));
        }
    }

    #[test]
    fn what_is_told_is_harmless_in_a_terminal() {
        let line = told("http://localhost/\u{1b}[2J\n", Some(200), None, Verdict::Delivered);
        assert_eq!(line, "09:30:00Z contact -> http://localhost/[2J : 200");
    }
}
