//! What failures mean for somebody who follows a form: which pass by themselves, and how long to wait.
//! Pure; randomness is passed in.

use std::num::NonZeroU32;
use std::time::Duration;

use formsvc_client::Error;

use crate::args::Rate;

/// How often is asked at most, unless it is said.
const INTERVAL_MIN: Duration = Duration::from_secs(2);
/// Longest pause between two tries, unless the service asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Whether the same request may succeed later with nothing changed here: no connection, no answer, 429,
/// 5xx. Anything else, such as a key that was revoked, stays as it is.
pub(in crate::cmd) fn passes(error: &Error) -> bool {
    let is_of_the_service = error.status().is_some_and(|status| status.is_server_error());
    error.is_retryable() || error.is_rate_limited() || is_of_the_service
}

/// The pause after so many failures in a row: it doubles from the interval on, and is spread over its
/// upper half by `random`, in 0..1, so that those who follow do not come back at one moment. What the
/// service asks for comes first.
pub(in crate::cmd) fn pause(
    failures: u32,
    interval: Duration,
    retry_after: Option<Duration>,
    random: f64,
) -> Duration {
    let doubled = interval.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(PAUSE_MAX);
    doubled.mul_f64(0.5 + random / 2.0).max(retry_after.unwrap_or_default())
}

/// The interval where none is given: a tenth of what the service allows, or half of what `--max-rate`
/// does, so that others who use the key have the rest.
pub(in crate::cmd) fn interval(max_rate: Option<Rate>) -> Duration {
    let half = |rate: NonZeroU32| Duration::from_secs(120) / rate.get();
    match max_rate {
        Some(Rate::PerMinute(rate)) => half(rate).max(INTERVAL_MIN),
        Some(Rate::Off) | None => INTERVAL_MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_minute_and_obey_the_service() {
        let s = Duration::from_secs;
        for (failures, retry_after, random, expected) in [
            (1, None, 1.0, s(2)),
            (1, None, 0.0, s(1)),
            (2, None, 1.0, s(4)),
            (5, None, 1.0, s(32)),
            (6, None, 1.0, s(60)),
            (u32::MAX, None, 0.0, s(30)),
            (1, Some(s(90)), 0.5, s(90)),
            (6, Some(s(1)), 1.0, s(60)),
        ] {
            assert_eq!(pause(failures, s(2), retry_after, random), expected, "{failures}");
        }
    }

    #[test]
    fn the_interval_leaves_requests_for_others() {
        let rate = |rate| Some(Rate::PerMinute(NonZeroU32::new(rate).unwrap()));
        assert_eq!(interval(None), Duration::from_secs(2));
        assert_eq!(interval(Some(Rate::Off)), Duration::from_secs(2));
        assert_eq!(interval(rate(300)), Duration::from_secs(2));
        assert_eq!(interval(rate(6)), Duration::from_secs(20));
    }
}
