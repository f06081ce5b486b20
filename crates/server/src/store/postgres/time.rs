//! The time that a store goes by.

use crate::store::Clock;

/// Whose clock counts.
#[derive(Clone)]
pub(super) enum Time {
    /// The database's: the one clock that all processes share.
    OfDatabase,
    /// One that a test sets.
    Given(Clock),
}

impl Time {
    /// What the database's function `now_us` is called with: nothing, or the time.
    pub(super) fn given(&self) -> Option<i64> {
        match self {
            Self::OfDatabase => None,
            Self::Given(clock) => Some(clock().micros()),
        }
    }
}
