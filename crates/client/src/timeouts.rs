//! How long things may take.

use std::time::Duration;

/// Time limits of a call. Every call has one, always.
///
/// ```
/// use std::time::Duration;
/// use formsvc_client::Timeouts;
/// let patient = Timeouts { overall: None, ..Timeouts::default() };
/// assert_eq!(patient.attempt, Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// To connect, TLS included. Default 5 s.
    pub connect: Duration,
    /// For one attempt, from sending the request to the last byte of the answer. Default 30 s.
    pub attempt: Duration,
    /// For one whole call (one page, for lists): attempts, waits for the rate limit and pauses
    /// between retries. Default 120 s; `None` leaves it to the other limits.
    pub overall: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            attempt: Duration::from_secs(30),
            overall: Some(Duration::from_secs(120)),
        }
    }
}
