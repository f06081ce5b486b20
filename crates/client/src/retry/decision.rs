//! Decides whether and when a call retries. Pure: a failure and random numbers in, a decision out.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

use super::RetryPolicy;
use crate::transport::TransportErrorKind;

/// Factor of a pause after a 429.
const RATE_LIMIT_FACTOR: u32 = 5;

/// Share of a pause that is added at random.
const SPREAD: f64 = 0.1;

/// The limits of a pause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest `Retry-After` that the call waits for.
    pub(crate) max_wait: Duration,
    /// Remaining time of the call.
    pub(crate) time_left: Option<Duration>,
}

/// The step after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Retry after this pause.
    After(Duration, RetryReason),
    /// The failure is final.
    Stop,
    /// A retry is possible, but only after a longer wait than the limits allow.
    TooLong,
}

/// Why a failed attempt is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RetryReason {
    /// The service answered with this status.
    Status(StatusCode),
    /// No complete response was received.
    Transport(TransportErrorKind),
    /// The body of a success is truncated.
    Truncated,
    /// [`RetryPolicy::classify`] returned true for a failure that is not retried by default.
    Policy,
}

impl fmt::Display for RetryReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {}", status.as_u16()),
            Self::Transport(kind) => f.write_str(kind.message()),
            Self::Truncated => f.write_str("the response is truncated"),
            Self::Policy => f.write_str("the caller's policy"),
        }
    }
}

impl RetryReason {
    /// Returns the reason for a retry after an error status; `None` if a retry cannot help.
    pub(crate) fn of_status(status: StatusCode) -> Option<Self> {
        let is_retryable = matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504);
        is_retryable.then_some(Self::Status(status))
    }

    /// Returns the reason for a retry without a complete response; `None` if a retry cannot help.
    pub(crate) fn of_transport(kind: TransportErrorKind) -> Option<Self> {
        let (_, _, is_retryable) = kind.row();
        is_retryable.then_some(Self::Transport(kind))
    }

    pub(crate) fn is_rate_limit(self) -> bool {
        self == Self::Status(StatusCode::TOO_MANY_REQUESTS)
    }
}

/// Decides after attempt number `attempt` (from 1); without a reason for a retry, the failure is
/// final. `random` returns numbers in 0..1.
pub(crate) fn decide(
    policy: &RetryPolicy,
    reason: Option<RetryReason>,
    attempt: u32,
    retry_after: Option<Duration>,
    limits: Limits,
    random: impl Fn() -> f64,
) -> Decision {
    let Some(reason) = reason else { return Decision::Stop };
    if attempt >= policy.max_attempts {
        return Decision::Stop;
    }
    if retry_after.is_some_and(|wait| wait > limits.max_wait) {
        return Decision::TooLong;
    }
    let factor = if reason.is_rate_limit() { RATE_LIMIT_FACTOR } else { 1 };
    let factor = 2_u32.saturating_pow(attempt - 1).saturating_mul(factor);
    let backoff = policy.base.saturating_mul(factor).min(policy.max_delay);
    // A number out of range counts as the longest pause.
    let random = || Some(random()).filter(|random| (0.0..=1.0).contains(random)).unwrap_or(1.0);
    let pause = part(backoff, random()).max(retry_after.unwrap_or(Duration::ZERO));
    let pause = pause.saturating_add(part(pause, SPREAD * random()));
    // The call would time out during the pause.
    if limits.time_left.is_some_and(|left| pause >= left) {
        return Decision::TooLong;
    }
    Decision::After(pause, reason)
}

/// Returns a share of a duration, never more than the whole.
fn part(whole: Duration, share: f64) -> Duration {
    Duration::try_from_secs_f64(whole.as_secs_f64() * share).unwrap_or(whole).min(whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FREE: Limits = Limits { max_wait: Duration::from_secs(120), time_left: None };

    fn status(code: u16) -> Option<RetryReason> {
        RetryReason::of_status(StatusCode::from_u16(code).unwrap())
    }

    fn pause(
        failed: Option<RetryReason>,
        attempt: u32,
        after: Option<u64>,
        random: f64,
    ) -> Option<Duration> {
        let after = after.map(Duration::from_secs);
        match decide(&RetryPolicy::standard(), failed, attempt, after, FREE, || random) {
            Decision::After(pause, _) => Some(pause),
            Decision::Stop | Decision::TooLong => None,
        }
    }

    #[test]
    fn retryable_causes_match_the_table() {
        use TransportErrorKind::{
            BadEncoding, Connect, Interrupted, Other, ProxyAuth, Timeout, Tls, TooLarge,
        };

        for code in 300..600 {
            let tried = pause(status(code), 1, None, 0.5).is_some();
            assert_eq!(tried, [408, 429, 500, 502, 503, 504].contains(&code), "{code}");
        }
        let retried = [BadEncoding, Connect, Timeout, Interrupted];
        for kind in retried.into_iter().chain([Tls, ProxyAuth, TooLarge, Other]) {
            let tried = pause(RetryReason::of_transport(kind), 1, None, 0.5).is_some();
            assert_eq!(tried, retried.contains(&kind), "{kind:?}");
        }
        assert!(pause(Some(RetryReason::Truncated), 1, None, 0.5).is_some());
        assert!(pause(None, 1, None, 0.5).is_none());
    }

    #[test]
    fn pauses_match_the_table() {
        let ms = |n| Some(Duration::from_millis(n));
        for (failed, attempt, after, random, expected) in [
            (status(503), 1, None, 0.0, ms(0)),
            (status(503), 1, None, 1.0, ms(220)),
            (status(503), 2, None, 1.0, ms(440)),
            (status(503), 3, None, 1.0, ms(880)),
            (status(429), 1, None, 1.0, ms(1_100)),
            (status(429), 3, None, 1.0, ms(4_400)),
            (status(429), 1, Some(7), 0.0, ms(7_000)),
            (status(429), 1, Some(7), 1.0, ms(7_700)),
            (status(503), 1, Some(0), 0.0, ms(0)),
            (status(503), 1, Some(120), 0.0, ms(120_000)),
            (status(503), 1, Some(121), 0.0, None),
            (status(503), 4, None, 0.0, None),
        ] {
            let found = pause(failed, attempt, after, random);
            assert_eq!(found, expected, "{failed:?} {attempt} {after:?} {random}");
        }
    }

    #[test]
    fn pause_longer_than_the_remaining_time_is_too_long() {
        let limits = Limits { time_left: Some(Duration::from_secs(7)), ..FREE };
        let policy = RetryPolicy::standard();
        let decide = |after| {
            decide(&policy, status(429), 1, Some(Duration::from_secs(after)), limits, || 0.0)
        };
        assert_eq!(decide(7), Decision::TooLong);
        assert!(matches!(decide(6), Decision::After(..)));
    }

    proptest! {
        #[test]
        fn pause_is_at_least_retry_after_and_within_bounds(
            attempt in 1_u32..u32::MAX,
            after in prop::option::of(0_u64..=120),
            random in any::<f64>(),
            base in any::<u64>(),
        ) {
            let policy = RetryPolicy::standard()
                .max_attempts(u32::MAX)
                .base_delay(Duration::from_millis(base));
            let after = after.map(Duration::from_secs);
            match decide(&policy, status(503), attempt, after, FREE, || random) {
                Decision::After(pause, _) => {
                    let asked = after.unwrap_or_default();
                    prop_assert!(pause >= asked);
                    prop_assert!(pause <= asked.max(policy.max_delay).mul_f64(1.1));
                }
                other => prop_assert!(false, "{other:?}"),
            }
        }
    }
}
