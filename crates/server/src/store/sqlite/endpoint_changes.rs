//! How often this process changed endpoints: what was claimed before a change is looked at again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Changes of endpoints, counted once they are committed and before they are answered.
#[derive(Debug, Default)]
pub(super) struct EndpointChanges {
    /// The transaction under way changes one.
    under_way: AtomicBool,
    count: AtomicU64,
}

impl EndpointChanges {
    /// The transaction under way changes an endpoint. For the writing thread.
    pub(super) fn note(&self) {
        self.under_way.store(true, Ordering::Relaxed);
    }

    /// The transaction has ended. If it failed, a look in vain does no harm.
    pub(super) fn ended(&self) {
        if self.under_way.load(Ordering::Relaxed) {
            self.under_way.store(false, Ordering::Relaxed);
            self.count.fetch_add(1, Ordering::Release);
        }
    }

    /// How many there were.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }
}
