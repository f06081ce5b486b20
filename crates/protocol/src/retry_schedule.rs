//! Pauses between the attempts of a delivery (SPEC §6 rules 2 and 3 leave them open), and the pause
//! that an endpoint asks for (RFC 9110 §10.2.3).

use std::time::{Duration, UNIX_EPOCH};

use crate::limits::DELIVERY_RETRIES;

/// Exponential backoff with jitter between the attempts of a delivery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrySchedule {
    /// Pause before the first retry.
    pub base: Duration,
    /// Factor from one pause to the next.
    pub factor: u32,
    /// Largest random addition, as a fraction of the pause, so that deliveries that failed together
    /// are not retried together. 0.2 is 20 %.
    pub jitter: f64,
    /// Retries after the first attempt.
    pub retries: u32,
}

/// 10 s, 60 s and 360 s, each up to 20 % longer.
impl Default for RetrySchedule {
    fn default() -> Self {
        let base = Duration::from_secs(10);
        Self { base, factor: 6, jitter: 0.2, retries: DELIVERY_RETRIES }
    }
}

impl RetrySchedule {
    /// Returns the pause before a retry; the first retry has number 1. `random` is between 0 and 1.
    /// `asked_for`, the endpoint's `Retry-After`, can lengthen the pause up to one hour, never shorten
    /// it.
    pub fn pause(&self, retry: u32, random: f64, asked_for: Option<Duration>) -> Duration {
        let multiplied = self.factor.checked_pow(retry.saturating_sub(1)).unwrap_or(u32::MAX);
        let pause = self.base.saturating_mul(multiplied);
        let jitter = 1.0 + self.jitter * random.clamp(0.0, 1.0);
        let pause = Duration::try_from_secs_f64(pause.as_secs_f64() * jitter).unwrap_or(pause);
        pause.max(asked_for.unwrap_or_default().min(RETRY_AFTER_MAX))
    }

    /// Returns the longest time from the start of the first attempt to the end of the last one, when
    /// each attempt takes `attempt` and the endpoint sends no `Retry-After`.
    pub fn window(&self, attempt: Duration) -> Duration {
        (1..=self.retries)
            .map(|retry| self.pause(retry, 1.0, None).saturating_add(attempt))
            .fold(attempt, Duration::saturating_add)
    }
}

/// Longest pause that `Retry-After` can ask for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);

/// Returns the pause that an endpoint asks for with `Retry-After` on a 429 or 503; `None` for another
/// status and for a value that [`parse_retry_after`] does not understand.
pub fn retry_after(status: u16, value: &[u8], now_unix_seconds: u64) -> Option<Duration> {
    if !matches!(status, 429 | 503) {
        return None;
    }
    parse_retry_after(std::str::from_utf8(value).ok()?, now_unix_seconds)
}

/// Parses `Retry-After`: seconds, or the date when the pause ends; an hour at most. A date in the past
/// asks for no pause. Seconds may have a fraction, which RFC 9110 §10.2.3 does not allow but services
/// send.
///
/// ```
/// use std::time::Duration;
/// use formsvc_protocol::parse_retry_after;
/// assert_eq!(parse_retry_after("1.5", 0), Some(Duration::from_millis(1_500)));
/// assert_eq!(parse_retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 50), Some(Duration::from_secs(10)));
/// assert_eq!(parse_retry_after("-1", 0), None);
/// ```
pub fn parse_retry_after(value: &str, now_unix_seconds: u64) -> Option<Duration> {
    let value = value.trim();
    let pause = delay_seconds(value).or_else(|| {
        let until = httpdate::parse_http_date(value).ok()?;
        let until = until.duration_since(UNIX_EPOCH).ok()?.as_secs();
        Some(Duration::from_secs(until.saturating_sub(now_unix_seconds)))
    })?;
    Some(pause.min(RETRY_AFTER_MAX))
}

fn delay_seconds(text: &str) -> Option<Duration> {
    // `parse` alone also accepts signs, exponents and `inf`.
    let has_digits_only = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let seconds = text.parse().ok().filter(|_| has_digits_only)?;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn default_pauses_are_10_60_360_s_plus_jitter() {
        let schedule = RetrySchedule::default();
        let pauses = |random| [1, 2, 3].map(|retry| schedule.pause(retry, random, None));
        assert_eq!(pauses(0.0), [secs(10), secs(60), secs(360)]);
        assert_eq!(pauses(1.0), [secs(12), secs(72), secs(432)]);
        assert_eq!(schedule.retries, 3);
        assert_eq!(schedule.window(secs(10)), secs(12 + 72 + 432 + 4 * 10));
    }

    #[test]
    fn retry_after_lengthens_pause_up_to_one_hour() {
        let pause = |asked| RetrySchedule::default().pause(1, 0.0, Some(secs(asked)));
        assert_eq!(
            [0, 9, 11, 3_600, 3_601, u64::MAX].map(pause).map(|pause| pause.as_secs()),
            [10, 10, 11, 3_600, 3_600, 3_600]
        );
    }

    proptest! {
        #[test]
        fn pauses_grow_and_stay_within_the_jitter(
            base in 0u64..1_000_000, factor in 1u32..100, jitter in 0.0..1.0, random in 0.0..1.0,
        ) {
            let base = Duration::from_millis(base);
            let schedule = RetrySchedule { base, factor, jitter, retries: 3 };
            for retry in 1..40 {
                let plain = schedule.pause(retry, 0.0, None);
                let jittered = schedule.pause(retry, random, None);
                prop_assert!(jittered >= plain);
                prop_assert!(jittered.as_secs_f64() <= plain.as_secs_f64() * (1.0 + jitter) + 1e-6);
                prop_assert!(schedule.pause(retry + 1, 0.0, None) >= plain);
            }
        }
    }

    /// 1994-11-06T08:49:37Z
    const NOW: u64 = 784_111_777;

    fn asked(value: &str) -> Option<u64> {
        retry_after(503, value.as_bytes(), NOW).map(|pause| pause.as_secs())
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_up_to_an_hour() {
        for (value, seconds) in [
            (" 120 ", 120),
            ("0", 0),
            ("3600", 3_600),
            ("3601", 3_600),
            ("18446744073709551615", 3_600),
            ("99999999999999999999999", 3_600),
            ("3599.5", 3_599),
            ("3600.5", 3_600),
            ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 3_600),
        ] {
            assert_eq!(asked(value), Some(seconds), "{value}");
        }
        for ignored in ["-1", "+1", "1.5.0", "1,5", "1e3", ".", "soon", "", " "] {
            assert_eq!(asked(ignored), None, "{ignored}");
        }
        assert_eq!(retry_after(503, b"1\xff", NOW), None);
    }

    #[test]
    fn delay_may_have_a_fraction() {
        for (text, millis) in [("0", 0), ("0.5", 500), (".5", 500), ("1.", 1_000), ("1.25", 1_250)]
        {
            assert_eq!(delay_seconds(text), Some(Duration::from_millis(millis)), "{text}");
        }
        assert_eq!(retry_after(429, b" 1.5 ", NOW), Some(Duration::from_millis(1_500)));
    }

    #[test]
    fn retry_after_counts_on_429_and_503_only() {
        let obeyed: Vec<u16> =
            (100..1_000).filter(|status| retry_after(*status, b"7", NOW).is_some()).collect();
        assert_eq!(obeyed, [429, 503]);
    }
}
