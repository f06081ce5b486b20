//! Checks of the deliveries that a service sends (SPEC §3, §5, §6, §8). The checks start a receiver on
//! loopback, to which the service must have a webhook endpoint, and need three submissions. The receiver
//! accepts the first delivery, refuses every attempt of the second and the first attempt of the third.
//! Deliveries of older submissions do not count, and those without a valid signature only if none has one.
//!
//! | Question | Module |
//! |---|---|
//! | which statements are checked, and how to fix a failure | [`SENDER_CHECKS`] |
//! | how submissions are made | [`submit`], or the user |
//! | what arrived, and how it was answered | `recorder` |
//! | whether the attempts fulfil a statement, without I/O | `judge` |

mod judge;
mod public_form;
mod recorder;
mod table;

use std::io;
use std::time::Duration;

use formsvc_protocol::limits::DELIVERY_RETRIES;
use formsvc_protocol::signature::SigningSecret;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::judgement::Problem;
use crate::report::{CheckInfo, Outcome, Report, excerpt};

pub use public_form::{SubmitError, submit};
pub use table::{SENDER_CHECKS, SenderCheck, SenderTest};

use judge::RunRecord;
use recorder::{Recorder, Submissions};

/// Submissions that the checks need.
pub const SUBMISSIONS: usize = 3;
/// Time limit of a request's head, and of its body.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts of a delivery that is never accepted.
const ATTEMPTS: usize = 1 + DELIVERY_RETRIES as usize;

/// Settings of the sender checks.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// The signing secrets of the endpoint, at least one. A signature by any of them is valid.
    pub secrets: Vec<SecretString>,
    /// Other secrets that reports must not contain, such as the API key.
    pub masked: Vec<SecretString>,
    /// Time limit of the run.
    pub time_limit: Duration,
    /// Longest wait for the next attempt; the checks that need a later one are skipped.
    pub max_pause: Option<Duration>,
}

/// The results of a run.
#[derive(Debug)]
pub struct SenderResults {
    /// One report for each wanted check, in the order of the table.
    pub reports: Vec<Report>,
    /// Facts about the sender.
    pub profile: SenderProfile,
}

/// Facts about a sender.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SenderProfile {
    /// Attempts of the delivery that was never accepted.
    pub attempts: usize,
    /// The pauses between them, in milliseconds.
    pub pauses_ms: Vec<u64>,
    /// Names of all headers, in lower case.
    pub header_names: Vec<String>,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderEvent {
    /// The receiver waits for this number of further submissions.
    Waiting(usize),
    /// The attempt of this number, from 1, of the refused delivery arrived.
    Attempt(usize),
    /// The receiver waits this long for an attempt that must not come.
    Quiet(Duration),
}

/// Receives deliveries on `listener` and runs the checks that are wanted. The caller makes
/// [`SUBMISSIONS`] submissions during the run.
pub async fn check_sender(
    listener: TcpListener,
    options: &SenderOptions,
    is_wanted: impl Fn(&CheckInfo) -> bool,
    on_event: impl FnMut(SenderEvent),
) -> io::Result<SenderResults> {
    let keys = options.secrets.iter().map(|secret| SigningSecret::new(secret.expose_secret()));
    let keys: Option<Vec<SigningSecret>> = keys.collect();
    let keys = keys.filter(|keys| !keys.is_empty());
    let keys = keys.ok_or_else(|| io::Error::other("a signing secret is empty or missing"))?;
    let recorder = Recorder::start(listener, keys, REQUEST_TIMEOUT);
    let missing = observe(&recorder, options, on_event).await;
    let submissions = recorder.submissions();
    let ignored = recorder.ignored();
    let run = RunRecord { submissions: &submissions, ignored, missing: missing.as_ref() };
    let secrets = options.secrets.iter().chain(&options.masked);
    let secrets: Vec<&str> = secrets.map(ExposeSecret::expose_secret).collect();
    let reports = SENDER_CHECKS.iter().filter(|check| is_wanted(&check.info));
    let reports = reports.map(|check| {
        let (outcome, found) = match (check.test.0)(&run) {
            Ok(found) => (Outcome::Passed, found),
            Err(Problem::Fail(_, found)) => (Outcome::Failed, found),
            Err(Problem::Skip(found)) => (Outcome::Skipped, found),
        };
        Report::new(check.info, outcome, excerpt(found.as_bytes(), &secrets))
    });
    Ok(SenderResults { reports: reports.collect(), profile: run.profile() })
}

/// Reports the wanted checks as skipped, for a run without deliveries. The default reason is the option that
/// enables them.
pub fn skip_sender_checks(
    is_wanted: impl Fn(&CheckInfo) -> bool,
    reason: Option<&str>,
) -> Vec<Report> {
    let checks = SENDER_CHECKS.iter().map(|check| check.info).filter(is_wanted);
    let default = |check: CheckInfo| format!("needs {}", check.flag.unwrap_or_default());
    let reason = |check| reason.map_or_else(|| default(check), str::to_owned);
    checks.map(|check| Report::new(check, Outcome::Skipped, reason(check))).collect()
}

/// The delivery that did not arrive.
#[derive(Clone, Debug)]
enum Missing {
    /// A submission, within the time limit.
    Submission,
    /// An attempt, within the time limit.
    Attempt(Duration),
    /// An attempt that may arrive later than the longest wait.
    LaterAttempt(Duration),
}

/// Waits until all attempts have arrived, and then for an attempt that must not come.
async fn observe(
    recorder: &Recorder,
    options: &SenderOptions,
    mut on_event: impl FnMut(SenderEvent),
) -> Option<Missing> {
    let end = Instant::now() + options.time_limit;
    for count in 0..SUBMISSIONS {
        on_event(SenderEvent::Waiting(SUBMISSIONS - count));
        if !recorder.wait_until(end, |submissions| submissions.len() > count).await {
            return Some(Missing::Submission);
        }
    }
    // Forged submissions are forgotten as soon as a signed one arrives.
    let attempts = |all: &Submissions| all.get(1).map_or(0, Vec::len);
    let mut longest = Duration::ZERO;
    for number in 1..=ATTEMPTS {
        let began = Instant::now();
        let until = options.max_pause.map_or(end, |pause| end.min(began + pause));
        if !recorder.wait_until(until, |all| attempts(all) >= number).await {
            let waited = began.elapsed();
            let is_paused = options.max_pause.is_some_and(|pause| waited >= pause);
            let missing = if is_paused { Missing::LaterAttempt } else { Missing::Attempt };
            return Some(missing(waited));
        }
        longest = longest.max(began.elapsed());
        on_event(SenderEvent::Attempt(number));
    }
    // Twice the longest pause, in which a sender with one more retry would make it.
    let quiet = options.max_pause.map_or(longest * 2, |pause| pause.min(longest * 2));
    on_event(SenderEvent::Quiet(quiet));
    recorder.wait_until(end.min(Instant::now() + quiet), |all| attempts(all) > ATTEMPTS).await;
    None
}
