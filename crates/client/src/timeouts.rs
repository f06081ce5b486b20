//! Time limits of calls.

use std::time::Duration;

/// Time limits of a call.
///
/// ```
/// use std::time::Duration;
/// use formsvc_client::Timeouts;
/// let patient = Timeouts::new().attempt(Duration::from_secs(60)).overall(None);
/// assert_ne!(patient, Timeouts::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) attempt: Duration,
    pub(crate) overall: Option<Duration>,
}

impl Timeouts {
    /// 5 s to connect, 30 s for an attempt, 120 s overall.
    pub fn new() -> Self {
        Self {
            connect: Duration::from_secs(5),
            attempt: Duration::from_secs(30),
            overall: Some(Duration::from_secs(120)),
        }
    }

    /// Limits the time to connect, TLS included.
    pub fn connect(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Limits one attempt, from sending the request to the last byte of the answer.
    pub fn attempt(mut self, limit: Duration) -> Self {
        self.attempt = limit;
        self
    }

    /// Limits one call (for lists: one page) with its attempts, waits for the rate limit and pauses
    /// between retries. `None` leaves only the other limits.
    pub fn overall(mut self, limit: Option<Duration>) -> Self {
        self.overall = limit;
        self
    }

    /// Checks that no limit is zero.
    pub(crate) fn check(self) -> Result<(), String> {
        let overall = self.overall.unwrap_or(Duration::MAX);
        for (name, limit) in
            [("connect", self.connect), ("attempt", self.attempt), ("overall", overall)]
        {
            if limit.is_zero() {
                return Err(format!("the time limit `{name}` is zero"));
            }
        }
        Ok(())
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self::new()
    }
}
