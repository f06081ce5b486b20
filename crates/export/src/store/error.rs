//! Errors of a row store.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

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
    #[error("its version is `{found}`, and this release reads `{expected}`")]
    Version {
        /// Its version.
        found: i64,
        /// The version of this release.
        expected: i64,
    },
    /// The content is damaged.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// Another process has locked the database for too long.
    #[error("another process has locked it")]
    Busy,
    /// The system refused the file.
    #[error("{0}")]
    Io(io::Error),
    /// Any other failure of SQLite.
    #[error("{0}")]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl StoreError {
    pub(crate) fn new(path: &Path, problem: StoreProblem) -> Self {
        Self { path: path.to_owned(), problem }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> Self {
        let full =
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        Self::new(path, if full { StoreProblem::Full } else { StoreProblem::Io(error) })
    }

    pub(crate) fn sqlite(path: &Path, error: rusqlite::Error) -> Self {
        let problem = match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                StoreProblem::Damaged(error.to_string())
            }
            Some(ErrorCode::DiskFull) => StoreProblem::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreProblem::Busy,
            _ => StoreProblem::Other(error.into()),
        };
        Self::new(path, problem)
    }

    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
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
