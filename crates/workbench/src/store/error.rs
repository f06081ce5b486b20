//! The errors of the store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::delivery::CaptureNumber;

/// Why captures cannot be stored or read. Contains nothing of a delivery.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// Other users could have written the file or folder, or can read it.
    #[error("`{}` {problem}", path.display())]
    Unsafe { path: PathBuf, problem: &'static str, fix: String },
    /// Another program or another version wrote the file, or it is not a database.
    #[error("`{}` is not a capture store of this version", path.display())]
    Foreign { path: PathBuf },
    #[error("the database `{}` is damaged", path.display())]
    Damaged { path: PathBuf },
    #[error("capture {number} is damaged: its column `{column}` has an invalid value")]
    DamagedRow { number: CaptureNumber, column: &'static str },
    #[error("no space is left to store captures in `{}`", path.display())]
    Full { path: PathBuf },
    #[error("another process is writing to `{}`", path.display())]
    Busy { path: PathBuf },
    #[error("the file system of `{}` does not support write-ahead logs", path.display())]
    NoWriteAheadLog { path: PathBuf },
    #[error("a request of {size} bytes exceeds the {max} bytes that one capture may have")]
    TooLarge { size: u64, max: u64 },
    #[error("cannot {action} `{}`", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    #[error("cannot {action} captures in `{}`", path.display())]
    Database {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// The store was closed, or its thread ended.
    #[error("the capture store is closed")]
    Closed,
}

impl StoreError {
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::StorageFull {
            return Self::Full { path };
        }
        Self::Io { action, path, source: source.into() }
    }

    pub(super) fn database(action: &'static str, path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::NotADatabase) => Self::Foreign { path },
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged { path },
            _ => Self::Database { action, path, source: source.into() },
        }
    }

    /// Returns what the user can do, as a clause.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unsafe { fix, .. } => fix.clone(),
            Self::Foreign { path } | Self::Damaged { path } => {
                format!("move `{}` away; the next listener creates a new store", path.display())
            }
            Self::DamagedRow { .. } => "prune the store to remove damaged captures".to_owned(),
            Self::Full { .. } => "free space on its disk".to_owned(),
            Self::Busy { .. } => "retry when that process has ended".to_owned(),
            Self::NoWriteAheadLog { .. } | Self::Io { .. } => {
                "use a folder of yours on a local disk".to_owned()
            }
            Self::TooLarge { .. } | Self::Database { .. } | Self::Closed => return None,
        })
    }
}

/// A failed read or write, before the path is known.
#[derive(Debug)]
pub(super) enum RowError {
    Database(rusqlite::Error),
    Damaged { number: CaptureNumber, column: &'static str },
}

impl RowError {
    pub(super) fn in_store(self, action: &'static str, path: &Path) -> StoreError {
        match self {
            Self::Database(error) => StoreError::database(action, path, error),
            Self::Damaged { number, column } => StoreError::DamagedRow { number, column },
        }
    }
}

impl From<rusqlite::Error> for RowError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}
