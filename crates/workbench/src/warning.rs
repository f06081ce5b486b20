//! Warnings for the user of a listener.

use std::fmt::Display;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::verdict::VerdictCode;

/// Number of successes in a row after which the next failure begins a new outage. A single success does not end an
/// outage, because operations can fail and succeed in turns: on an almost full disk small deliveries are still stored,
/// and near the limit of open files some connections are still accepted.
const OUTAGE_END: u64 = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    pub code: WarningCode,
    /// A clause that names the cause.
    pub message: String,
}

/// The kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningCode {
    /// The listener has no signing secret.
    NotVerified,
    /// Other machines can reach the listener.
    Reachable,
    /// Captures are kept in memory, because the store on disk cannot be used.
    InMemory,
    /// A delivery could not be stored.
    NotStored,
    /// The response to a stored delivery could not be stored.
    ResponseNotStored,
    /// Captures over the limits could not be removed.
    NotPruned,
    /// The listener cannot accept connections.
    NotAccepting,
    /// The time limit of targets is longer than the time limit of the service.
    LongTimeout,
    /// A target is the listener itself.
    Loop,
    /// A target on another machine is reached without TLS.
    PlainHttp,
    /// A target does not give a usable response: none, one that is too late, or one that is not HTTP.
    TargetDown,
    /// A target responds again.
    TargetUp,
    /// A target responds so slowly that the service may give up.
    TargetSlow,
    /// The last retry of a polled submission failed.
    GivenUp,
}

impl Warning {
    /// Returns the warning of a listener without a signing secret.
    pub fn not_verified() -> Self {
        let row = VerdictCode::Unchecked.row();
        let advice = row.advice.expect("the row has advice");
        let message = format!("{}: deliveries are not verified; {advice}", row.meaning);
        Self { code: WarningCode::NotVerified, message }
    }

    /// Returns the warning of a listener at this address, unless only this machine can reach it.
    pub fn reachable(bind: IpAddr) -> Option<Self> {
        let message = format!("other machines can reach the listener at {bind}");
        (!bind.is_loopback()).then_some(Self { code: WarningCode::Reachable, message })
    }

    /// Returns the warning of a listener whose store on disk fails with `error`, with advice how to repair it.
    pub fn in_memory(error: impl Display, advice: Option<&str>) -> Self {
        let effect = "deliveries are kept in memory only, and lost when the listener ends";
        let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
        Self { code: WarningCode::InMemory, message: format!("{error}: {effect}{advice}") }
    }
}

impl WarningCode {
    /// All values with their names in JSON.
    pub const ALL: [(Self, &str); 14] = [
        (Self::NotVerified, "not_verified"),
        (Self::Reachable, "reachable"),
        (Self::InMemory, "in_memory"),
        (Self::NotStored, "not_stored"),
        (Self::ResponseNotStored, "response_not_stored"),
        (Self::NotPruned, "not_pruned"),
        (Self::NotAccepting, "not_accepting"),
        (Self::LongTimeout, "long_timeout"),
        (Self::Loop, "loop"),
        (Self::PlainHttp, "plain_http"),
        (Self::TargetDown, "target_down"),
        (Self::TargetUp, "target_up"),
        (Self::TargetSlow, "target_slow"),
        (Self::GivenUp, "given_up"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(code, _)| *code == self).expect("every value has a name").1
    }
}

/// Limits the warnings about an operation to one for each outage.
#[derive(Debug)]
pub(crate) struct WarningLimiter {
    successes_in_a_row: AtomicU64,
}

impl Default for WarningLimiter {
    fn default() -> Self {
        Self { successes_in_a_row: AtomicU64::new(OUTAGE_END) }
    }
}

impl WarningLimiter {
    pub(crate) fn record_success(&self) {
        self.successes_in_a_row.fetch_add(1, Ordering::Relaxed);
    }

    /// Records a failure. Returns true if the failure begins an outage.
    pub(crate) fn record_failure(&self) -> bool {
        self.successes_in_a_row.swap(0, Ordering::Relaxed) >= OUTAGE_END
    }
}

/// Returns the message of an error and of its causes.
pub(crate) fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_secret_warning_has_the_advice_of_the_verdict() {
        let row = VerdictCode::Unchecked.row();
        let Warning { code, message } = Warning::not_verified();
        assert_eq!(code, WarningCode::NotVerified);
        assert!(message.starts_with(row.meaning) && message.ends_with(row.advice.unwrap()));
    }

    #[test]
    fn only_addresses_outside_of_this_machine_have_a_warning() {
        for (bind, is_reachable) in [
            ("127.0.0.1", false),
            ("127.0.0.2", false),
            ("::1", false),
            ("0.0.0.0", true),
            ("::", true),
            ("192.168.1.20", true),
        ] {
            let warning = Warning::reachable(bind.parse().unwrap());
            assert_eq!(warning.is_some(), is_reachable, "{bind}");
        }
    }
}
