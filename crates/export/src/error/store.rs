//! Errors of a row store.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{ErrorCode, ffi};

/// Codes of SQLite if the system refuses to lock the file.
const LOCK_FAILURES: [i32; 3] =
    [ffi::SQLITE_IOERR_LOCK, ffi::SQLITE_IOERR_RDLOCK, ffi::SQLITE_IOERR_CHECKRESERVEDLOCK];

/// A row store cannot be used. The message names its file.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the database `{}`: {problem}", path.display())]
pub struct StoreError {
    path: PathBuf,
    problem: StoreProblem,
}

/// Why a row store cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreProblem {
    /// The file is a database of another program.
    #[error("it is not a database of formsvc")]
    Foreign,
    /// The file is of another release.
    #[error("its version is `{found}`, and this release uses `{expected}`; use a new database")]
    Version {
        /// Its version.
        found: i64,
        /// The version of this release.
        expected: i64,
    },
    /// The database has an object that could run code or hide submissions.
    #[error("it has {0}, which formsvc did not create; remove it")]
    Object(String),
    /// The statement of a table is not that of formsvc.
    #[error("its table `{0}` is not as formsvc creates it; undo the change, or use a new database")]
    ChangedTable(String),
    /// The content is damaged.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The time limit was reached.
    #[error("the time limit was reached")]
    TimeLimit,
    /// Another process has locked the database for too long.
    #[error("another process has locked it, or its file system has no locks")]
    Busy,
    /// The file system cannot lock files.
    #[error("its file system has no locks; use a folder on a local disk")]
    NoLocks,
    /// The system refused the file.
    #[error("{0}")]
    Io(io::Error),
    /// Any other failure of SQLite.
    #[error("{0}")]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    pub(crate) fn new(path: &Path, problem: impl Into<StoreProblem>) -> Self {
        Self { path: path.to_owned(), problem: problem.into() }
    }

    /// Returns the reason.
    pub fn problem(&self) -> &StoreProblem {
        &self.problem
    }

    /// Returns true if the file itself is useless: damaged, of another release or another program.
    pub(crate) fn is_of_the_file(&self) -> bool {
        matches!(
            self.problem,
            StoreProblem::Foreign | StoreProblem::Version { .. } | StoreProblem::Damaged(_)
        )
    }
}

impl From<io::Error> for StoreProblem {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Io(error),
        }
    }
}

impl From<rusqlite::Error> for StoreProblem {
    fn from(error: rusqlite::Error) -> Self {
        let extended_code = error.sqlite_error().map(|error| error.extended_code);
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::Damaged(error.to_string())
            }
            // A value that this program did not write.
            None if let rusqlite::Error::FromSqlConversionFailure(.., reason) = &error => {
                Self::Damaged(reason.to_string())
            }
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::OperationInterrupted) => Self::TimeLimit,
            // The index of the write-ahead log cannot become larger.
            _ if extended_code == Some(ffi::SQLITE_IOERR_SHMSIZE) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy,
            _ if extended_code.is_some_and(|code| LOCK_FAILURES.contains(&code)) => Self::NoLocks,
            _ => Self::Other(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_names_the_file_system_or_the_disk() {
        for (code, expected) in [
            (ffi::SQLITE_IOERR_LOCK, "its file system has no locks; use a folder"),
            (ffi::SQLITE_IOERR_RDLOCK, "its file system has no locks; use a folder"),
            // SQLite reports a lack of locks (ENOLCK) like the lock of another process.
            (ffi::SQLITE_BUSY, "another process has locked it, or its file system has no locks"),
            (ffi::SQLITE_FULL, "the disk is full"),
            (ffi::SQLITE_IOERR_SHMSIZE, "the disk is full"),
            (ffi::SQLITE_IOERR_READ, "disk I/O error"),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let text = StoreError::new(Path::new("rows.db"), error).to_string();
            assert!(text.starts_with("cannot use the database `rows.db`: "), "{text}");
            assert!(text.contains(expected), "{code}: {text}");
        }
    }
}
