//! A proxy that nobody named: all who come through it would share the limit of one address.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::rate_limit::MonotonicClock;

/// It is told once in so long: whoever sends the header can make it be told.
const TOLD_EVERY: Duration = Duration::from_secs(3_600);

/// When it was told last.
pub(super) struct Undeclared {
    clock: MonotonicClock,
    /// Milliseconds on the clock from which on it is told again.
    due: AtomicU64,
}

impl Undeclared {
    pub(super) fn new(clock: MonotonicClock) -> Self {
        Self { clock, due: AtomicU64::new(0) }
    }

    /// Something came that says it was forwarded, and not from a proxy that is known.
    pub(super) fn met(&self) {
        if self.is_due() {
            // No address: it may be that of a visitor, who made the header up.
            tracing::warn!(
                "a submission has `X-Forwarded-For` and comes from no `--trusted-proxy`: if a proxy \
                 stands in front, name it, or all its visitors share one limit"
            );
        }
    }

    fn is_due(&self) -> bool {
        let now = millis((self.clock)());
        let next = now.saturating_add(millis(TOLD_EVERY));
        let due = self.due.load(Ordering::Relaxed);
        let (order, failed) = (Ordering::Relaxed, Ordering::Relaxed);
        now >= due && self.due.compare_exchange(due, next, order, failed).is_ok()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
