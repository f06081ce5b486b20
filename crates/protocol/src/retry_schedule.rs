//! Pauses between the attempts of a delivery (SPEC §6 rules 2 and 3 leave them open).

use std::time::Duration;

use crate::limits::DELIVERY_RETRIES;
use crate::retry_after::RETRY_AFTER_MAX;

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
}
