//! Who may use the database at a moment, inside this process.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Turns of readers and the writer.
///
/// A WAL file lets them work side by side; only a blocking checkpoint needs the writer's turn. A
/// database in memory has no WAL: there a reader and a writer exclude each other, and SQLite would
/// make the loser poll. Waiting here costs nothing and starves nobody.
#[derive(Debug)]
pub(super) struct Turns {
    readers_wait: bool,
    lock: RwLock<()>,
}

impl Turns {
    pub(super) fn new(in_memory: bool) -> Self {
        Self { readers_wait: in_memory, lock: RwLock::new(()) }
    }

    /// A turn for one read.
    pub(super) fn read(&self) -> Option<RwLockReadGuard<'_, ()>> {
        // The lock guards no data that a panic could have left half changed.
        self.readers_wait.then(|| self.lock.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// A turn for one transaction of the writer, or for a checkpoint that must not meet one.
    pub(super) fn write(&self) -> RwLockWriteGuard<'_, ()> {
        self.lock.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_take_turns_in_memory_and_never_wait_on_a_file() {
        assert!(Turns::new(true).read().is_some());
        let file = Turns::new(false);
        let _writing = file.write();
        assert!(file.read().is_none());
    }
}
