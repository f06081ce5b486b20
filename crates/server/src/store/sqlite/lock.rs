//! The lock file that keeps two servers off one database.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::OpenError;

/// Held while the file is open; the operating system lets go of it when the process ends, however
/// it ends, so a lock never goes stale. The file itself stays.
#[derive(Debug)]
pub(super) struct ServerLock {
    _file: File,
}

impl ServerLock {
    /// Takes the lock beside a database, or fails at once.
    pub(super) fn take(database: &Path) -> Result<Self, OpenError> {
        let path = path_beside(database);
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(OpenError::Locked { lock: path }),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

fn path_beside(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}
