//! What time it is, asked of whoever made the inbox.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A clock, shared by the handles of a store.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> SystemTime + Send + Sync>);

impl Clock {
    pub(crate) fn new(now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Milliseconds since 1970; 0 before that.
    pub(crate) fn millis(&self) -> i64 {
        let since = (self.0)().duration_since(UNIX_EPOCH).unwrap_or_default();
        millis(since)
    }
}

/// Whole milliseconds, as they are stored.
pub(crate) fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The time from one millisecond to a later one, at least 1 ms.
pub(crate) fn until(end: i64, now: i64) -> Duration {
    Duration::from_millis(end.saturating_sub(now).max(1).unsigned_abs())
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(SystemTime::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_before_1970_is_at_its_beginning() {
        let clock = Clock::new(|| UNIX_EPOCH - Duration::from_secs(1));
        assert_eq!(clock.millis(), 0);
    }

    #[test]
    fn what_is_past_is_a_millisecond_away() {
        assert_eq!(until(5, 9), Duration::from_millis(1));
        assert_eq!(until(i64::MIN, i64::MAX), Duration::from_millis(1));
        assert_eq!(until(2_000, 500), Duration::from_millis(1_500));
    }
}
