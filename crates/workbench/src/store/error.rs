//! The errors of the store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::delivery::CaptureNumber;

/// Why captures cannot be stored or read. Contains no delivery data, so it can be logged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The file or folder is not private: its owner is another user, others have access, or the path leads to a
    /// symbolic link or a wrong kind of file. `fix` is advice for the user, usually a shell command in backticks.
    #[error("`{}` {problem}", path.display())]
    Unsafe { path: PathBuf, problem: &'static str, fix: String },
    /// Another program or another version wrote the file, or the file is not a database.
    #[error("`{}` is not a capture store of this version", path.display())]
    Foreign { path: PathBuf },
    #[error("cannot access `{}`", path.display())]
    Io { path: PathBuf, source: Arc<io::Error> },
    #[error("the database of captures is damaged")]
    Damaged,
    #[error("capture {number} is damaged: its column `{column}` has an invalid value")]
    DamagedRow { number: CaptureNumber, column: &'static str },
    #[error("the disk of the capture store is full")]
    Full,
    #[error("another process is writing to the capture store")]
    Busy,
    #[error("a capture of {size} bytes exceeds the limit of {max} bytes")]
    TooLarge { size: u64, max: u64 },
    /// The thread that writes has ended: the store was closed, or the thread panicked.
    #[error("the capture store is closed, or its thread panicked")]
    Closed,
    #[error("reading the capture store ended with a panic")]
    Panicked,
    #[error("the database of captures failed")]
    Database(#[source] Arc<rusqlite::Error>),
}

impl StoreError {
    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull => Self::Full,
            _ => Self::Io { path: path.to_owned(), source: error.into() },
        }
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged,
            _ => Self::Database(error.into()),
        }
    }
}
