//! Checks of the REST API of any deployment (SPEC §2, §4, §5, §7, §8), from outside. All requests are GET
//! and stay inside the rate limit, except those of [`ApiOptions::spend_quota`].
//!
//! | Question | Module |
//! |---|---|
//! | which statements are checked, and how to fix a failure | [`API_CHECKS`] |
//! | which requests are sent, once for all checks | `probe`, `session`, `overload` |
//! | whether an answer fulfils a statement, without I/O | `judge` |
//! | facts beyond pass and fail | [`Profile`] |

mod judge;
mod overload;
mod probe;
mod profile;
mod session;
mod table;

use std::time::Duration;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::judgement::Problem;
use crate::report::{CheckInfo, Outcome, Report, excerpt};
use crate::send::HttpSender;

pub use profile::{ForeignCursors, LimitOverMax, Profile, RetryAfterForm};
pub use table::{API_CHECKS, ApiCheck, ApiTest};

use probe::Exchange;
use session::Session;

/// Recommended [`HttpSenderOptions::answer_max`](crate::send::HttpSenderOptions::answer_max): a page of
/// submissions of the reference service has at most 16 MiB and one row more.
pub const API_ANSWER_MAX: usize = 24 << 20;

/// An API key, ready to be sent. Its `Debug` output is redacted.
#[derive(Clone, Debug)]
pub struct Key {
    header: HeaderValue,
    text: SecretString,
}

impl Key {
    /// Returns `None` if the text cannot be part of a header.
    pub fn new(text: &SecretString) -> Option<Self> {
        let mut header = HeaderValue::try_from(format!("Bearer {}", text.expose_secret())).ok()?;
        header.set_sensitive(true);
        Some(Self { header, text: text.clone() })
    }
}

/// The deployment, and which optional checks to run.
#[derive(Clone, Debug)]
pub struct ApiOptions {
    /// The base URL; it may have a path.
    pub base_url: Url,
    /// A valid key.
    pub key: Key,
    /// The id of the form to read submissions of. Default: one with several pages, if there is one.
    pub form: Option<String>,
    /// A revoked key; enables `key-revoked`.
    pub revoked_key: Option<Key>,
    /// The id of a form of another user; enables `foreign-form`.
    pub foreign_form: Option<String>,
    /// Exceeds the rate limit; enables the checks of it. Other clients of the key are refused meanwhile.
    pub spend_quota: bool,
    /// Longest wait for the rate limit.
    pub max_wait: Duration,
    /// Time limit of the run.
    pub time_limit: Duration,
}

/// The results of a run.
#[derive(Debug)]
pub struct ApiResults {
    /// One report for each wanted check, in the order of the table, and one for a failed gate.
    pub reports: Vec<Report>,
    /// Facts about the deployment. Complete only if all checks are wanted.
    pub profile: Profile,
}

/// Runs the checks that are wanted. `on_request` is called with the method and path of each request.
///
/// The first check is a gate: if it fails, the deployment is not the service, and the others are skipped.
/// The requests that only the profile needs are sent if all checks are wanted. For a part of the checks,
/// the profile contains the facts that their own answers show.
pub async fn check_api(
    sender: &HttpSender,
    options: &ApiOptions,
    is_wanted: impl Fn(&CheckInfo) -> bool,
    on_request: impl FnMut(&str),
) -> ApiResults {
    let mut session = Session::new(sender, options, on_request);
    let mut reports = Vec::new();
    let mut gate = None;
    let all_wanted = API_CHECKS.iter().all(|check| is_wanted(&check.info));
    for check in API_CHECKS {
        let is_gate = check.info.id == API_CHECKS[0].info.id;
        let wanted = is_wanted(&check.info);
        if !wanted && !is_gate {
            continue;
        }
        let report = match &gate {
            Some(reason) => Report::new(check.info, Outcome::Skipped, reason),
            None => run_check(check, &mut session).await,
        };
        if is_gate && report.outcome == Outcome::Failed {
            gate = Some(format!("not tried: `{}` failed", check.info.id));
        } else if is_gate && all_wanted {
            // Before the checks that exceed the rate limit.
            session.send_profile_probes().await;
        }
        if wanted || report.outcome == Outcome::Failed {
            reports.push(report);
        }
    }
    ApiResults { reports, profile: Profile::new(&session) }
}

async fn run_check(check: &ApiCheck, session: &mut Session<'_, impl FnMut(&str)>) -> Report {
    let mut exchanges: Vec<Exchange> = Vec::new();
    for probe in check.test.probes {
        match session.get(*probe).await {
            Ok(found) => exchanges.extend(found.iter().cloned()),
            Err(reason) => return Report::new(check.info, Outcome::Skipped, reason),
        }
    }
    let (outcome, at, found) = match (check.test.judge)(&exchanges) {
        Ok(()) => (Outcome::Passed, exchanges.len() - 1, exchanges[exchanges.len() - 1].describe()),
        Err(Problem::Fail(at, found)) => (Outcome::Failed, at, found),
        Err(Problem::Skip(found)) => (Outcome::Skipped, exchanges.len() - 1, found),
    };
    let secrets = session.secrets();
    let exchange = &exchanges[at.min(exchanges.len() - 1)];
    let body = exchange.outcome.as_ref().ok().map(|answer| excerpt(&answer.body, &secrets));
    Report {
        request: Some(exchange.request.clone()),
        status: exchange.status(),
        answer: body,
        took: exchanges.iter().map(|exchange| exchange.took).sum(),
        ..Report::new(check.info, outcome, excerpt(found.as_bytes(), &secrets))
    }
}
