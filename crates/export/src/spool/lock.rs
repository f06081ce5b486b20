//! The lock of a spool: a file beside its database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::lock::FileLock;

/// The lock of a spool.
#[derive(Debug)]
pub(super) struct SpoolLock {
    pub(super) database: PathBuf,
    _lock: FileLock,
}

impl SpoolLock {
    /// Takes the lock; `None` if another process holds it.
    pub(super) fn take(database: &Path) -> io::Result<Option<Self>> {
        let lock = FileLock::take(&lock_path(database))?;
        Ok(lock.map(|lock| Self { database: database.to_owned(), _lock: lock }))
    }

    /// Removes the spool.
    pub(super) fn remove_database(&self) -> io::Result<()> {
        for ending in ["-wal", "-shm", "-journal"] {
            remove_if_there(&beside(&self.database, ending))?;
        }
        remove_if_there(&self.database)
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

pub(super) fn lock_path(database: &Path) -> PathBuf {
    beside(database, ".lock")
}

pub(super) fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(ending);
    path.into()
}
