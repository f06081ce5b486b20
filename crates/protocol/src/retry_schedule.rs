//! When a failed delivery is tried again (SPEC §6 rules 2 and 3, which leave the pauses open).

use std::time::Duration;

use crate::limits::DELIVERY_RETRIES;
use crate::retry_after::RETRY_AFTER_MAX;

/// The pauses between the attempts of a delivery: exponential backoff, with jitter on top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetrySchedule {
    /// Pause before the first retry.
    pub base: Duration,
    /// What each further pause is multiplied by.
    pub factor: u32,
    /// How much of a pause is added at random at most, so that deliveries that failed together do not
    /// come back together: 0.2 is a fifth.
    pub jitter: f64,
    /// Retries after the first attempt.
    pub retries: u32,
}

/// 10 s, 60 s and 360 s, each up to a fifth longer.
impl Default for RetrySchedule {
    fn default() -> Self {
        let base = Duration::from_secs(10);
        Self { base, factor: 6, jitter: 0.2, retries: DELIVERY_RETRIES }
    }
}

impl RetrySchedule {
    /// The pause before a retry, the first being number 1. `random` is between 0 and 1. What the
    /// endpoint asked for can make the pause longer, up to an hour, and never shorter.
    pub fn pause(&self, retry: u32, random: f64, asked_for: Option<Duration>) -> Duration {
        let multiplied = self.factor.checked_pow(retry.saturating_sub(1)).unwrap_or(u32::MAX);
        let pause = self.base.saturating_mul(multiplied);
        let jitter = 1.0 + self.jitter * random.clamp(0.0, 1.0);
        let pause = Duration::try_from_secs_f64(pause.as_secs_f64() * jitter).unwrap_or(pause);
        pause.max(asked_for.unwrap_or_default().min(RETRY_AFTER_MAX))
    }

    /// The longest a delivery can take from its first attempt to its last, if every attempt takes as
    /// long as it may and no endpoint asks for more.
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
    fn the_pauses_are_10_60_and_360_seconds_and_up_to_a_fifth_longer() {
        let schedule = RetrySchedule::default();
        let pauses = |random| [1, 2, 3].map(|retry| schedule.pause(retry, random, None));
        assert_eq!(pauses(0.0), [secs(10), secs(60), secs(360)]);
        assert_eq!(pauses(1.0), [secs(12), secs(72), secs(432)]);
        assert_eq!(schedule.retries, 3);
        assert_eq!(schedule.window(secs(10)), secs(12 + 72 + 432 + 4 * 10));
    }

    #[test]
    fn an_endpoint_can_ask_for_more_patience_up_to_an_hour_and_never_for_less() {
        let pause = |asked| RetrySchedule::default().pause(1, 0.0, Some(secs(asked)));
        assert_eq!(
            [0, 9, 11, 3_600, 3_601, u64::MAX].map(pause).map(|pause| pause.as_secs()),
            [10, 10, 11, 3_600, 3_600, 3_600]
        );
    }

    proptest! {
        #[test]
        fn pauses_never_shrink_and_stay_within_the_jitter(
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
