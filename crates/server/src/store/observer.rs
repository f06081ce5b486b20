//! How a store tells what it does to whoever counts, without knowing who that is.

use std::time::Duration;

/// Told of what a store does. Called between writes: it must be quick, and must not wait.
pub trait StoreObserver: Send + Sync + 'static {
    /// A transaction ended.
    fn committed(&self, commit: Commit);
    /// A submission was accepted: so long after it came to the store, by a form whose clock is so
    /// far ahead of the time.
    fn accepted(&self, took: Duration, ahead: Duration);
    /// So many deliveries were canceled, because their endpoint was removed.
    fn canceled(&self, deliveries: u64);
}

/// A transaction that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Whether what was written is kept.
    pub succeeded: bool,
    /// Writes in it, refused ones included.
    pub writes: u32,
    /// Writes that waited for the next one when it ended.
    pub waiting: u32,
    /// How long it took.
    pub took: Duration,
}
