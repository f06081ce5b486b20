//! The lines about delivery attempts.

use std::collections::HashMap;

use formsvc_client::types::PublicId;
use formsvc_client::{Form, FormId};
use formsvc_server::delivery::{AttemptCode, AttemptObserver, AttemptOver};
use formsvc_server::store::Verdict;
use jiff::Timestamp;
use tokio::sync::mpsc;

use crate::base::sanitize::one_line;
use crate::base::text::duration;

/// Maximum number of lines that are not printed yet. Further lines are dropped, so that a stopped terminal does
/// not delay deliveries.
const PENDING_LINES: usize = 1_024;

/// Sends a line for each attempt.
pub(super) struct AttemptReporter {
    /// The public ids of the forms that exist at the start.
    names: HashMap<FormId, PublicId>,
    lines: mpsc::Sender<String>,
}

impl AttemptReporter {
    pub(super) fn new(forms: &[Form]) -> (Self, mpsc::Receiver<String>) {
        let (lines, received) = mpsc::channel(PENDING_LINES);
        let names = forms.iter().map(|form| (form.id.clone(), form.public_id.clone())).collect();
        (Self { names, lines }, received)
    }
}

impl AttemptObserver for AttemptReporter {
    fn is_over(&self, attempt: &AttemptOver<'_>) {
        let form = self.names.get(attempt.form).map_or(attempt.form.as_str(), PublicId::as_str);
        let outcome = outcome(attempt.status, attempt.code.map(AttemptCode::as_str));
        // The line is dropped if the channel is full or closed.
        let _ = self.lines.try_send(line(
            Timestamp::now(),
            form,
            attempt.url,
            &outcome,
            attempt.verdict,
        ));
    }
}

/// Returns the status and the code of a failure.
fn outcome(status: Option<u16>, code: Option<&str>) -> String {
    match (status, code) {
        (Some(status), None | Some("status_not_2xx")) => status.to_string(),
        (Some(status), Some(code)) => format!("{status} {code}"),
        (None, code) => code.unwrap_or("failed").to_owned(),
    }
}

/// `09:30:00Z contact -> http://localhost:9000/: connect_failed, retry in 10.0 s`
fn line(now: Timestamp, form: &str, url: &str, outcome: &str, verdict: Verdict) -> String {
    let next = match verdict {
        Verdict::Delivered => String::new(),
        Verdict::Retry { after, .. } => format!(", retry in {}", duration(after)),
        Verdict::Failed => ", failed".to_owned(),
        Verdict::Unchanged | Verdict::Release => ", not retried".to_owned(),
    };
    let time = now.strftime("%H:%M:%SZ");
    one_line(&format!("{time} {form} -> {url}: {outcome}{next}")).into_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn attempt(url: &str, status: Option<u16>, code: Option<&str>, verdict: Verdict) -> String {
        let at: Timestamp = "2026-01-31T09:30:00.120Z".parse().unwrap();
        line(at, "contact", url, &outcome(status, code), verdict)
    }

    #[test]
    fn attempt_line_has_time_form_url_outcome_and_retry() {
        let url = "http://localhost:9000/";
        let retry = |millis| Verdict::Retry { after: Duration::from_millis(millis), retries: 1 };
        for (status, code, verdict, expected) in [
            (Some(200), None, Verdict::Delivered, "200"),
            (None, Some("connect_failed"), retry(11_900), "connect_failed, retry in 11.9 s"),
            (Some(503), Some("status_not_2xx"), retry(50), "503, retry in 50 ms"),
            (Some(302), Some("redirected"), Verdict::Failed, "302 redirected, failed"),
            (None, Some("timeout"), Verdict::Unchanged, "timeout, not retried"),
        ] {
            let line = attempt(url, status, code, verdict);
            assert_eq!(line, format!("09:30:00Z contact -> {url}: {expected}"));
        }
    }

    #[test]
    fn attempt_line_has_no_control_characters() {
        let line = attempt("http://localhost/\u{1b}[2J\n", Some(200), None, Verdict::Delivered);
        assert_eq!(line, "09:30:00Z contact -> http://localhost/[2J : 200");
    }
}
