//! Why a database was not opened.

use std::path::PathBuf;

/// A database could not be opened. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another server has it.
    #[error("another server uses this database (it holds `{}`)", lock.display())]
    Locked {
        /// The lock file.
        lock: PathBuf,
    },
    /// A newer release wrote it.
    #[error(
        "the database has schema version {found}, and this release knows versions up to {known}"
    )]
    NewerSchema {
        /// Version found.
        found: i32,
        /// Newest version known.
        known: i32,
    },
    /// An older release wrote it, and only `serve` and `migrate` upgrade it.
    #[error("the database has schema version {found}, and this release needs version {needed}")]
    OlderSchema {
        /// Version found.
        found: usize,
        /// Version needed.
        needed: usize,
    },
    /// The file is a database with nothing in it, and no tables were to be created.
    #[error("the database is empty")]
    Empty,
    /// It is a database of another program.
    #[error("the database belongs to another program")]
    NotOurs,
    /// It is no database at all.
    #[error("the file is not a database")]
    NotADatabase,
    /// The path means a database in memory to SQLite, which would be lost with the process.
    #[error("`:memory:` is not the path of a file")]
    InMemory,
    /// The file system cannot hold a write-ahead log.
    #[error("the database cannot use a write-ahead log here (SQLite chose `{mode}`)")]
    NoWal {
        /// The journal mode in its place.
        mode: String,
    },
    /// The SQLite library is too old to be safe.
    #[error("SQLite {found} can lose writes; 3.51.3 or later is needed")]
    OldSqlite {
        /// Its version.
        found: &'static str,
    },
    /// What stands where the lock file should be is something else.
    #[error("`{}` must be a file, and no link to one: it is the lock of the database", path.display())]
    NotALock {
        /// Where the lock file should be.
        path: PathBuf,
    },
    /// It is half of a copy.
    #[error("the database is a copy that was not finished, and nothing may use it until it is")]
    Unfinished,
    /// What a server had claimed when it died could not be given back.
    #[error("claims of a server that died cannot be given back")]
    Claims(#[source] crate::store::StoreError),
    /// What is in it cannot be read.
    #[error("the database cannot be read")]
    Unread(#[source] crate::store::StoreError),
    /// The file cannot be read, made or locked.
    #[error("the database file cannot be opened")]
    Io(#[from] std::io::Error),
    /// SQLite refused.
    #[error("the database cannot be opened")]
    Sqlite(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase) => Self::NotADatabase,
            _ => Self::Sqlite(error),
        }
    }
}
