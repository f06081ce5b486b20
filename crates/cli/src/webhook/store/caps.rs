//! How much is kept.

use std::time::Duration;

/// Most that is kept, in bytes of the file.
pub(crate) const SIZE_MAX: u64 = 256 << 20;
/// Longest that a capture is kept: submissions are personal data.
pub(crate) const AGE_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Most that is kept in memory, where there is no file.
const MEMORY_MAX: u64 = 16 << 20;

/// The part of the room for what nobody has proven to be the service's, as one of so many. What anybody can
/// send then takes no room from what the service sent.
const UNPROVEN_PART: u64 = 8;

/// What is kept. The oldest captures go first; the newest is always kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caps {
    /// Bytes that captures take up. The log beside the file adds some 16 MiB while much comes.
    pub(crate) size: u64,
    /// Time since a capture came.
    pub(crate) age: Duration,
}

impl Default for Caps {
    fn default() -> Self {
        Self { size: SIZE_MAX, age: AGE_MAX }
    }
}

impl Caps {
    /// Bytes for what is proven to be the service's, or for the rest.
    pub(super) fn part(self, proven: bool) -> u64 {
        let unproven = self.size / UNPROVEN_PART;
        if proven { self.size - unproven } else { unproven }
    }

    /// The same for a store in memory, which is for the sake of one run.
    pub(crate) fn in_memory(self) -> Self {
        Self { size: self.size.min(MEMORY_MAX), ..self }
    }
}
