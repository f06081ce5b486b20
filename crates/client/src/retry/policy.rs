//! The settings of retries.

use std::num::NonZeroU32;
use std::time::Duration;

/// The number and the pace of retries of a call.
///
/// Retried: the statuses 408, 429, 500, 502, 503 and 504; a failed or broken connection; a timeout;
/// a 200 with a truncated body. Not retried: 400, 401, 403, 404 and every other status; TLS
/// failures; a 407 of the proxy.
///
/// The pause before retry *n* is a random part of `base × 2ⁿ⁻¹`, at most `max_delay` ("full
/// jitter"), but at least the value of `Retry-After` (seconds or a date). Up to 10 % is added at
/// random, so that clients with the same `Retry-After` do not retry at the same time. A 429 pauses
/// all clones of the client.
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
    /// Returns the default policy: 4 attempts; base 200 ms, or 1 s after a 429; pauses of at most
    /// 20 s (`Retry-After` may require more); a budget of 100 retries.
    pub fn standard() -> Self {
        Self {
            max_attempts: NonZeroU32::new(4).expect("4 is not 0"),
            base: Duration::from_millis(200),
            throttle_base: Duration::from_secs(1),
            max_delay: Duration::from_secs(20),
            budget: Some(100),
        }
    }

    /// Returns a policy of one attempt, without retries.
    pub fn none() -> Self {
        Self { max_attempts: NonZeroU32::MIN, ..Self::standard() }
    }

    /// Sets the largest number of attempts of a call, the first included.
    #[must_use]
    pub fn max_attempts(mut self, attempts: NonZeroU32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets the upper limit of the first pause, `base`. The limit doubles with each retry.
    #[must_use]
    pub fn base_delay(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// Sets the upper limit of the first pause after a 429. `Retry-After` may require a longer one.
    #[must_use]
    pub fn throttle_base_delay(mut self, base: Duration) -> Self {
        self.throttle_base = base;
        self
    }

    /// Sets the longest pause, before up to 10 % is added. `Retry-After` may require a longer one,
    /// up to [`max_wait`](crate::ClientBuilder::max_wait).
    #[must_use]
    pub fn max_delay(mut self, max: Duration) -> Self {
        self.max_delay = max;
        self
    }

    /// Sets the number of retries in the budget that all clones share. Each retry takes one. A call
    /// that succeeds after retries gives them back; a call that succeeds at once gives back a fifth
    /// of one, up to the full budget. While the budget is empty, calls fail without a retry, which
    /// protects a service that is down. `None` removes the limit.
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
