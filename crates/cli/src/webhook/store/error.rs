//! Why captures cannot be kept or read, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::error::CliError;
use crate::exit::Exit;

/// Why captures cannot be kept or read. Nothing of a capture is in it.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// There is no folder for them.
    #[error("neither FORMSVC_STATE_DIR nor a home folder says where captures are kept")]
    NoFolder,
    /// Others could have written the file, or can read it.
    #[error("`{}` {what}", path.display())]
    Unsafe {
        /// The file, or its folder.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
        /// What makes it right.
        fix: String,
    },
    /// A newer release wrote the file.
    #[error("`{}` was written by a newer formsvc: it has version {found}, and this one knows up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version known.
        known: i64,
    },
    /// The file is something else, or damaged.
    #[error("`{}` is no store of captures, or damaged", path.display())]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// A row does not say what it should.
    #[error("the capture {number} in the store cannot be read: {what}")]
    Malformed {
        /// Which.
        number: i64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// There is no room.
    #[error("there is no room for captures in `{}`", path.display())]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// Another process writes, and does not come to an end.
    #[error("another process holds `{}`", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file system has no memory that processes share.
    #[error("captures cannot be kept in `{}`: its file system takes no write-ahead log", path.display())]
    NoWal {
        /// The file.
        path: PathBuf,
    },
    /// A request is larger than the store takes.
    #[error("a request of {0} bytes is too large to be kept")]
    TooLarge(usize),
    /// The disk said no.
    #[error("cannot {doing} `{}`", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The database said no.
    #[error("cannot {doing} captures in `{}`", path.display())]
    Database {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What it said.
        #[source]
        source: Arc<rusqlite::Error>,
    },
    /// The store was closed, or its thread ended.
    #[error("the store of captures is closed")]
    Closed,
}

impl StoreError {
    /// What an error of the file system is called.
    pub(crate) fn io(doing: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if source.kind() == io::ErrorKind::StorageFull {
            return Self::Full { path };
        }
        Self::Io { doing, path, source: source.into() }
    }

    /// What an error of the database is called.
    pub(super) fn database(doing: &'static str, path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { path },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Busy { path },
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => Self::NotOurs { path },
            _ => Self::Database { doing, path, source: source.into() },
        }
    }

    /// What to do about it.
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoFolder => "set HOME or FORMSVC_STATE_DIR".to_owned(),
            Self::Unsafe { fix, .. } => fix.clone(),
            Self::Newer { .. } => {
                "update formsvc, or set FORMSVC_STATE_DIR to another folder".to_owned()
            }
            Self::NotOurs { path } => {
                format!("move `{}` away; a new one is made by the next listener", path.display())
            }
            Self::Full { .. } => {
                "make room on its disk, or set FORMSVC_STATE_DIR to a folder on another".to_owned()
            }
            Self::Busy { .. } => "try again when it has ended".to_owned(),
            Self::NoWal { .. } | Self::Io { .. } => {
                "set FORMSVC_STATE_DIR to a folder of yours on a local disk".to_owned()
            }
            Self::Malformed { .. } | Self::TooLarge(_) | Self::Database { .. } | Self::Closed => {
                return None;
            }
        })
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let shown = Self::new(Exit::LocalIo, error.to_string()).because_of(&error);
        match error.hint() {
            Some(hint) => shown.hint(hint),
            None => shown,
        }
    }
}
