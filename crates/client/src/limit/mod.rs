//! Keeping to the service's rate limit (SPEC §8) before it has to say so.

mod gate;
mod state;

use std::num::NonZeroU32;
use std::time::Duration;

use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};

pub(crate) use gate::{Gate, Refusal};
pub(crate) use state::Wait;

/// Two seconds wider than the service's window; see `RollingWindow` for why.
pub(crate) const WINDOW: Duration = RATE_WINDOW.saturating_add(Duration::from_secs(2));

/// The client's own limit on requests. All clones of a client share it; other processes with the
/// same key are invisible to it, and show themselves by a 429.
///
/// The default is the service's: 300 requests in any minute (SPEC §8). Below the limit it costs
/// nothing; at the limit a call waits, at most
/// [`max_wait`](crate::ClientBuilder::max_wait).
///
/// ```
/// use std::num::NonZeroU32;
/// use formsvc_client::RateLimit;
/// let half = RateLimit::per_minute(NonZeroU32::new(150).expect("150 is not 0"));
/// assert_ne!(half, RateLimit::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit(Option<NonZeroU32>);

impl RateLimit {
    /// At most this many requests in any minute.
    pub fn per_minute(requests: NonZeroU32) -> Self {
        Self(Some(requests))
    }

    /// No limit of the client's own. A 429 still makes every clone wait.
    pub fn off() -> Self {
        Self(None)
    }

    pub(crate) fn requests(self) -> Option<NonZeroU32> {
        self.0
    }
}

impl Default for RateLimit {
    fn default() -> Self {
        Self(NonZeroU32::new(RATE_LIMIT))
    }
}
