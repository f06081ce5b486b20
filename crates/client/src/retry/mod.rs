//! Retries of failed attempts. Every call is a GET and may be repeated.

mod decision;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use formsvc_protocol::parse_retry_after;
use http::HeaderMap;
use http::header::RETRY_AFTER;

use crate::Error;
use crate::response::http_date;
pub use decision::RetryReason;
pub(crate) use decision::{Decision, Limits, decide};

/// The number and the pace of retries of a call.
///
/// Retried: the statuses 408, 429, 500, 502, 503 and 504; a failed or broken connection; a timeout;
/// a 200 with a truncated body, or with a damaged gzip body. Not retried: 400, 401, 403, 404 and every
/// other status; TLS failures; a 407 of the proxy.
///
/// The pause before retry *n* is computed in three steps:
///
/// 1. It is a random time between zero and a limit ("full jitter"). The limit is `base × 2ⁿ⁻¹`, after a 429 five
///    times that, but at most `max_delay`.
/// 2. It is extended to the value of `Retry-After` (seconds or a date) if that is longer.
/// 3. Up to 10 % is added at random, so that clients with the same `Retry-After` do not retry at the same time.
///
/// A 429 pauses all clones of the client.
///
/// ```
/// use std::time::Duration;
/// use formsvc_client::RetryPolicy;
/// let patient = RetryPolicy::standard()
///     .max_attempts(8)
///     .max_delay(Duration::from_secs(60));
/// # let _ = patient;
/// ```
#[derive(Clone, Debug)]
pub struct RetryPolicy {
    max_attempts: u32,
    base: Duration,
    max_delay: Duration,
    pub(crate) budget: Option<u32>,
    pub(crate) classify: Option<Classify>,
}

/// Decides whether a failed attempt is retried.
#[derive(Clone)]
pub(crate) struct Classify(pub(crate) Arc<dyn Fn(&Error) -> bool + Send + Sync>);

impl fmt::Debug for Classify {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Classify(..)")
    }
}

impl RetryPolicy {
    /// Returns the default policy: 4 attempts; base 200 ms; pauses of at most
    /// 20 s (`Retry-After` may require more); a budget of 100 retries.
    pub fn standard() -> Self {
        Self {
            max_attempts: 4,
            base: Duration::from_millis(200),
            max_delay: Duration::from_secs(20),
            budget: Some(100),
            classify: None,
        }
    }

    /// Returns a policy of one attempt, without retries.
    pub fn none() -> Self {
        Self { max_attempts: 1, ..Self::standard() }
    }

    /// Sets the largest number of attempts of a call, the first included. Zero is an error of
    /// [`build`](crate::ClientBuilder::build).
    #[must_use]
    pub fn max_attempts(self, attempts: u32) -> Self {
        Self { max_attempts: attempts, ..self }
    }

    /// Sets the upper limit of the first pause, `base`. The limit doubles with each retry.
    #[must_use]
    pub fn base_delay(self, base: Duration) -> Self {
        Self { base, ..self }
    }

    /// Sets the longest pause, before up to 10 % is added. `Retry-After` may require a longer one,
    /// up to [`max_wait`](crate::ClientBuilder::max_wait).
    #[must_use]
    pub fn max_delay(self, max: Duration) -> Self {
        Self { max_delay: max, ..self }
    }

    /// Sets the number of retries in the budget that all clones share. Each retry takes one. A call
    /// that succeeds after retries gives them back; a call that succeeds at once gives back a fifth
    /// of one, up to the full budget. While the budget is empty, calls fail without a retry, which
    /// protects a service that is down. `None` removes the limit.
    #[must_use]
    pub fn budget(self, retries: Option<u32>) -> Self {
        Self { budget: retries, ..self }
    }

    /// Sets a function that decides whether a failed attempt is retried; the other settings still limit
    /// the retries. [`Error::is_retryable`] is the default decision, and [`Error::attempts`] the number
    /// of attempts so far.
    ///
    /// ```
    /// use formsvc_client::RetryPolicy;
    /// // A proxy reports an unreachable service by the status 520.
    /// let policy = RetryPolicy::standard()
    ///     .classify(|error| error.is_retryable() || error.status().is_some_and(|s| s == 520));
    /// # let _ = policy;
    /// ```
    #[must_use]
    pub fn classify(self, retries: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        Self { classify: Some(Classify(Arc::new(retries))), ..self }
    }

    /// Checks the number of attempts.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.max_attempts == 0 {
            return Err("`max_attempts` is zero; a call has at least one attempt".to_owned());
        }
        Ok(())
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::standard()
    }
}

/// Number of tokens that a retry costs. A success at the first attempt adds one token.
const RETRY_COST: u64 = 5;

/// A token bucket. Retries take tokens, successful calls add tokens.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The tokens of a full budget; `None` means no limit.
    full: Option<u64>,
    left: AtomicU64,
}

impl Budget {
    /// Creates a full budget for this many retries.
    pub(crate) fn new(retries: Option<u32>) -> Self {
        let full = retries.map(|retries| u64::from(retries) * RETRY_COST);
        Self { full, left: AtomicU64::new(full.unwrap_or_default()) }
    }

    /// Takes the tokens of one retry; returns false if there are too few.
    pub(crate) fn try_spend(&self) -> bool {
        let spend = |left: u64| left.checked_sub(RETRY_COST);
        self.full.is_none() || self.left.fetch_update(Relaxed, Relaxed, spend).is_ok()
    }

    /// Adds the tokens of a successful call that needed `retries` retries.
    pub(crate) fn earn(&self, retries: u32) {
        let Some(full) = self.full else { return };
        let earned = if retries == 0 { 1 } else { u64::from(retries) * RETRY_COST };
        let earn = |left: u64| Some((left + earned).min(full));
        self.left.fetch_update(Relaxed, Relaxed, earn).expect("a budget can always earn");
    }
}

/// Parses `Retry-After`: a number of seconds, also with a fraction, or a date; at most one hour. A
/// date is compared with the response's own `Date`, so that a clock that differs from the service's
/// does not matter, and without it with `now`.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let now = http_date(headers).unwrap_or(now).duration_since(UNIX_EPOCH).unwrap_or_default();
    parse_retry_after(headers.get(RETRY_AFTER)?.to_str().ok()?, now.as_secs())
}

#[cfg(test)]
mod tests {

    use http::HeaderValue;
    use http::header::DATE;

    use super::*;

    #[test]
    fn failures_drain_and_successes_refill_the_budget() {
        let budget = Budget::new(Some(2));
        assert!(budget.try_spend() && budget.try_spend());
        assert!(!budget.try_spend());
        for _ in 0..4 {
            budget.earn(0);
            assert!(!budget.try_spend());
        }
        budget.earn(0);
        assert!(budget.try_spend());
        budget.earn(100);
        assert!(budget.try_spend() && budget.try_spend());
        assert!(!budget.try_spend());
    }

    #[test]
    fn success_after_retries_returns_their_tokens() {
        let budget = Budget::new(Some(1));
        for _ in 0..10 {
            assert!(budget.try_spend());
            budget.earn(1);
        }
    }

    fn read(retry_after_text: &str, date: Option<&str>) -> Option<Duration> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(retry_after_text).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_str(date).unwrap());
        }
        // 2026-01-01T00:00:00Z
        retry_after(&headers, UNIX_EPOCH + Duration::from_secs(1_767_225_600))
    }

    #[test]
    fn date_is_compared_with_the_date_of_the_answer() {
        let at = "Thu, 01 Jan 2026 00:00:30 GMT";
        assert_eq!(read(at, None), Some(Duration::from_secs(30)));
        let skewed = Some("Thu, 01 Jan 2026 00:00:10 GMT");
        assert_eq!(read(at, skewed), Some(Duration::from_secs(20)));
        assert_eq!(read(at, Some("garbage")), Some(Duration::from_secs(30)));
        assert_eq!(read("Wed, 31 Dec 2025 00:00:00 GMT", None), Some(Duration::ZERO));
    }
}
