//! The settings of retries.

use std::num::NonZeroU32;
use std::time::Duration;

/// How often and how fast a call tries again.
///
/// Tried again: 408, 429, 500, 502, 503, 504; no connection; a timeout; a connection that breaks;
/// a success whose body is cut short. Never: 400, 401, 403, 404 and every other status.
///
/// The pause before retry *n* is a random part of `base × 2ⁿ⁻¹` ("full jitter"), but at least what
/// `Retry-After` asks for (seconds or a date), plus 0–10 % so that clients told the same do not
/// come back together. A 429 also holds back every clone of the client for as long.
///
/// ```
/// use std::{num::NonZeroU32, time::Duration};
/// use formsvc_client::RetryPolicy;
/// let patient = RetryPolicy::standard()
///     .max_attempts(NonZeroU32::new(8).expect("8 is not 0"))
///     .max_delay(Duration::from_secs(60));
/// # let _ = patient;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    pub(super) max_attempts: NonZeroU32,
    pub(super) base: Duration,
    pub(super) throttle_base: Duration,
    pub(super) max_delay: Duration,
    pub(crate) budget: Option<u32>,
}

impl RetryPolicy {
    /// 4 attempts; base 200 ms, after a 429 1 s; pauses of at most 20 s (`Retry-After` may ask for
    /// more); a budget of 100 retries.
    pub fn standard() -> Self {
        Self {
            max_attempts: NonZeroU32::new(4).expect("4 is not 0"),
            base: Duration::from_millis(200),
            throttle_base: Duration::from_secs(1),
            max_delay: Duration::from_secs(20),
            budget: Some(100),
        }
    }

    /// One attempt, no retry.
    pub fn none() -> Self {
        Self { max_attempts: NonZeroU32::MIN, ..Self::standard() }
    }

    /// Attempts of one call, the first included.
    #[must_use]
    pub fn max_attempts(mut self, attempts: NonZeroU32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Upper bound of the first pause; it doubles with each retry.
    #[must_use]
    pub fn base_delay(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// The same after a 429 that names no time.
    #[must_use]
    pub fn throttle_base_delay(mut self, base: Duration) -> Self {
        self.throttle_base = base;
        self
    }

    /// Longest pause of our own choice. `Retry-After` may ask for longer, up to
    /// [`max_wait`](crate::ClientBuilder::max_wait).
    #[must_use]
    pub fn max_delay(mut self, max: Duration) -> Self {
        self.max_delay = max;
        self
    }

    /// Retries that all clones together may spend without a success in between; a call that
    /// succeeds after retries gives back what it spent, one that succeeds at once gives back a
    /// fifth of a retry. When nothing is left, calls fail with their first failure, which keeps a
    /// fleet from hammering a service that is down. `None` takes the bound away.
    #[must_use]
    pub fn budget(mut self, retries: Option<u32>) -> Self {
        self.budget = retries;
        self
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::standard()
    }
}
