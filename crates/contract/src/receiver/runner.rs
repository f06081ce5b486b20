//! Sends the requests of the checks, one check after the other, and judges the answers.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use formsvc_protocol::retry_after;
use formsvc_protocol::signature::SigningSecret;
use futures_util::future::join_all;
use http::header::RETRY_AFTER;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use url::Url;

use super::check::{Plan, ReceiverCheck, Step};
use super::clock::clock_lead;
use super::exchange::{Evidence, Exchange};
use super::leak::find_leak;
use super::request::{CheckRequest, ID_PREFIX, TestSubmission};
use super::signature_kind::Keys;
use super::table::RECEIVER_CHECKS;
use crate::report::{Outcome, as_millis};
use crate::send::{HttpSender, SendError, SendErrorKind};

/// Repeats of a request that is answered with 503: as many as the service's retries (SPEC §6).
const REPEATS: usize = 3;
/// Consecutive checks without any answer after which the others are skipped.
const UNANSWERED_CHECKS_MAX: usize = 3;
/// Longest pause before the first repeat; it triples with each repeat. `Retry-After` may ask for more,
/// but the user waits for the run, and a receiver that is still busy can answer 503 again.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The receiver, and the settings of a run.
pub struct ReceiverOptions<'a> {
    /// Sends the requests. Its time limit must be [`timeout`](Self::timeout).
    pub sender: &'a HttpSender,
    /// The URL of the receiver.
    pub url: &'a Url,
    /// The signing secret of the receiver; not empty.
    pub secret: &'a SecretString,
    /// Time limit of an answer.
    pub timeout: Duration,
    /// Returns the current time.
    pub clock: &'a (dyn Fn() -> SystemTime + Sync),
    /// Random digits that make the submission ids of each run unique.
    pub run_id: &'a str,
}

/// The result of a check.
#[derive(Clone, Debug, Serialize)]
pub struct ReceiverReport {
    /// The check.
    #[serde(flatten)]
    pub check: &'static ReceiverCheck,
    /// The result.
    pub outcome: Outcome,
    /// The reason. Not sanitized, and may quote the receiver.
    pub found: String,
    /// Number of requests.
    pub requests: usize,
    /// Duration of the check.
    #[serde(rename = "took_ms", serialize_with = "as_millis")]
    pub took: Duration,
}

/// Runs the checks of a receiver.
pub struct Runner<'a> {
    options: ReceiverOptions<'a>,
    key: SigningSecret,
    /// Secrets in answers: the id of the check, and the name of the secret.
    leaks: Vec<(&'static str, &'static str)>,
    /// Number of consecutive checks without any answer.
    unanswered_checks: usize,
    /// True after the first check: the receiver could be reached.
    was_reached: bool,
    /// Why the remaining checks are skipped.
    skip_reason: Option<String>,
}

impl<'a> Runner<'a> {
    /// Returns `None` if the secret is empty.
    pub fn new(options: ReceiverOptions<'a>) -> Option<Self> {
        let key = SigningSecret::new(options.secret.expose_secret())?;
        Some(Self {
            options,
            key,
            leaks: Vec::new(),
            unanswered_checks: 0,
            was_reached: false,
            skip_reason: None,
        })
    }

    /// Runs the wanted checks in the order of the table. `on_check` is called before each.
    ///
    /// The gates are run in any case, and reported if they are wanted or fail. Returns an error if the
    /// receiver cannot be reached at all.
    pub async fn run(
        mut self,
        is_wanted: impl Fn(&ReceiverCheck) -> bool,
        mut on_check: impl FnMut(&ReceiverCheck),
    ) -> Result<Vec<ReceiverReport>, SendError> {
        let mut reports = Vec::new();
        for check in RECEIVER_CHECKS {
            let wanted = is_wanted(check);
            if !wanted && !check.is_gate {
                continue;
            }
            let report = if let Some(reason) = &self.skip_reason {
                skipped(check, reason)
            } else {
                on_check(check);
                self.check(check).await?
            };
            if wanted || report.outcome == Outcome::Failed {
                reports.push(report);
            }
        }
        Ok(reports)
    }

    async fn check(&mut self, check: &'static ReceiverCheck) -> Result<ReceiverReport, SendError> {
        let began = Instant::now();
        let exchanges = self.exchanges(check).await?;
        self.was_reached = true;
        for exchange in &exchanges {
            self.leaks.extend(exchange.leak.map(|secret| (check.id, secret)));
        }
        let timeout = self.options.timeout;
        let evidence = Evidence { exchanges: &exchanges, leaks: &self.leaks, timeout };
        let finding = (check.judge)(&evidence);
        self.set_skip_reason(check, finding.outcome, &exchanges);
        Ok(ReceiverReport {
            check,
            outcome: finding.outcome,
            found: finding.reason,
            requests: exchanges.len(),
            took: began.elapsed(),
        })
    }

    /// Decides after a check whether the remaining checks are skipped.
    fn set_skip_reason(&mut self, check: &ReceiverCheck, outcome: Outcome, exchanges: &[Exchange]) {
        let has_answer = exchanges.iter().any(|exchange| exchange.outcome.is_ok());
        self.unanswered_checks = if has_answer { 0 } else { self.unanswered_checks + 1 };
        let refused = Some(SendErrorKind::Refused);
        let id = check.id;
        self.skip_reason = if check.is_gate && outcome == Outcome::Failed {
            Some(format!("not tried: `{id}` failed"))
        } else if exchanges.iter().any(|exchange| exchange.error_kind() == refused) {
            Some(format!("not tried: during `{id}` a connection was refused"))
        } else if self.unanswered_checks >= UNANSWERED_CHECKS_MAX {
            Some(format!("not tried: {UNANSWERED_CHECKS_MAX} checks in a row had no answer"))
        } else {
            None
        };
    }

    async fn exchanges(&self, check: &'static ReceiverCheck) -> Result<Vec<Exchange>, SendError> {
        let mut exchanges = Vec::with_capacity(check.requests());
        let submission = self.submission(check, 0);
        match check.plan {
            Plan::Separate(steps) => {
                for (at, step) in steps.iter().enumerate() {
                    let submission = self.submission(check, at);
                    exchanges.push(self.exchange(*step, &submission).await?);
                }
            }
            Plan::Same(steps) => {
                for step in steps {
                    exchanges.push(self.exchange(*step, &submission).await?);
                }
            }
            Plan::Concurrent(step, count) => {
                let requests = (0..count).map(|_| self.exchange(step, &submission));
                for exchange in join_all(requests).await {
                    exchanges.push(exchange?);
                }
                self.repeat_busy(step, &submission, &mut exchanges).await?;
            }
        }
        Ok(exchanges)
    }

    /// Repeats the requests that were answered with 503, so that the receiver can finish its work.
    async fn repeat_busy(
        &self,
        step: Step,
        submission: &TestSubmission,
        exchanges: &mut Vec<Exchange>,
    ) -> Result<(), SendError> {
        let is_busy = |exchange: &&Exchange| exchange.status() == Some(503);
        let mut busy: Vec<Exchange> = exchanges.iter().filter(is_busy).cloned().collect();
        let mut pause_max = PAUSE_MAX;
        for _ in 0..REPEATS {
            let now = (self.options.clock)();
            let pause = busy.iter().map(|exchange| requested_pause(exchange, now)).max();
            let Some(pause) = pause else { return Ok(()) };
            tokio::time::sleep(pause.min(pause_max)).await;
            pause_max *= 3;
            let mut still_busy = Vec::new();
            for _ in busy {
                let step = Step { label: "repeat", ..step };
                let exchange = self.exchange(step, submission).await?;
                let exchange = Exchange { is_repeat: true, ..exchange };
                still_busy.extend(Some(&exchange).filter(is_busy).cloned());
                exchanges.push(exchange);
            }
            busy = still_busy;
        }
        Ok(())
    }

    /// Sends a request. Before the first check is complete, a receiver that cannot be reached, or does not answer
    /// in HTTP/1.1, is an error of the run.
    async fn exchange(
        &self,
        step: Step,
        submission: &TestSubmission,
    ) -> Result<Exchange, SendError> {
        let ReceiverOptions { sender, url, secret, clock, .. } = &self.options;
        let keys = Keys { secret, key: &self.key };
        let request = CheckRequest::new(step, url, submission, keys, clock());
        let sent = clock();
        let outcome = sender.send(request.outgoing).await;
        let received = clock();
        let (clock_lead, leak) = match &outcome {
            Ok(answer) => (
                clock_lead(&answer.headers, sent, received),
                find_leak(answer, request.hidden_mac.as_deref(), secret.expose_secret()),
            ),
            // A connection without an answer in time is the result of a check.
            Err(error)
                if self.was_reached
                    || error.kind == SendErrorKind::Timeout && error.connect_failure.is_none() =>
            {
                (0, None)
            }
            Err(error) => return Err(error.clone()),
        };
        Ok(Exchange { label: step.label, is_repeat: false, outcome, clock_lead, leak })
    }

    fn submission(&self, check: &ReceiverCheck, at: usize) -> TestSubmission {
        let id = format!("{ID_PREFIX}{}_{}_{}", self.options.run_id, check.id, at + 1);
        TestSubmission { id, created: (self.options.clock)() }
    }
}

fn skipped(check: &'static ReceiverCheck, reason: &str) -> ReceiverReport {
    let found = reason.to_owned();
    ReceiverReport { check, outcome: Outcome::Skipped, found, requests: 0, took: Duration::ZERO }
}

/// Returns the pause that `Retry-After` asks for; without that header, the longest pause.
fn requested_pause(exchange: &Exchange, now: SystemTime) -> Duration {
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let status_and_value = exchange.status().zip(exchange.header(&RETRY_AFTER));
    let pause =
        status_and_value.and_then(|(status, value)| retry_after(status, value.as_bytes(), now));
    pause.unwrap_or(Duration::MAX)
}
