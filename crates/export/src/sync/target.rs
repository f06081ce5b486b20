//! Addresses of databases.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio::time::Instant;

use super::SyncStore;
use crate::blocking::run_blocking;
use crate::error::{ExportError, SyncError};
use crate::store::RowStore;
#[cfg(feature = "postgres")]
use crate::store::postgres::Address;

/// The database that submissions are synchronized with: `sqlite:PATH`, `postgres://…` or
/// `postgresql://…`. Debug and Display never show a password.
///
/// ```
/// use formsvc_export::SyncTarget;
/// let target: SyncTarget = "sqlite:rows.db".parse()?;
/// assert_eq!(target.to_string(), "sqlite:rows.db");
/// # Ok::<(), formsvc_export::SyncError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncTarget {
    location: Location,
    time_limit: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Location {
    Sqlite(PathBuf),
    #[cfg(feature = "postgres")]
    Postgres(Box<Address>),
}

impl SyncTarget {
    /// Uses an SQLite database.
    pub fn sqlite(path: impl AsRef<Path>) -> Self {
        Self { location: Location::Sqlite(path.as_ref().to_owned()), time_limit: None }
    }

    /// Sets the schema of a PostgreSQL database, `public` by default. An SQLite database has none, and
    /// stays as it is.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        match &mut self.location {
            Location::Sqlite(_) => drop(name.into()),
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => address.schema = name.into(),
        }
        self
    }

    /// Ends work in an SQLite database this long after it was opened, also within a statement, with
    /// [`ExportError::TimeLimit`]. The time limit of a [sync](SyncStore::sync) replaces it there.
    #[must_use]
    pub fn time_limit(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.time_limit = limit.into();
        self
    }

    /// Returns true for a PostgreSQL database.
    pub fn is_postgres(&self) -> bool {
        !matches!(self.location, Location::Sqlite(_))
    }

    /// Opens the database. A database of another program or of another release is refused and stays
    /// as it is. Nothing is created before the first [`sync`](SyncStore::sync).
    pub async fn open(&self) -> Result<SyncStore, ExportError> {
        let deadline = self.time_limit.and_then(|limit| Instant::now().checked_add(limit));
        let warnings = match &self.location {
            Location::Sqlite(path) => {
                let path = path.clone();
                run_blocking(move || RowStore::open_existing(&path, deadline).map(drop)).await?;
                Vec::new()
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => address.check().await?,
        };
        Ok(SyncStore { location: self.location.clone(), deadline, warnings })
    }
}

impl FromStr for SyncTarget {
    type Err = SyncError;

    fn from_str(text: &str) -> Result<Self, SyncError> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() || path == ":memory:" || path.contains("://") {
                let reason = "`sqlite:` needs the path of a file, for example `sqlite:rows.db`";
                return Err(SyncError::Target(reason.to_owned()));
            }
            return Ok(Self::sqlite(path));
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            #[cfg(feature = "postgres")]
            return Ok(Self {
                location: Location::Postgres(Box::new(text.parse()?)),
                time_limit: None,
            });
            #[cfg(not(feature = "postgres"))]
            return Err(SyncError::Target("this build has no support for PostgreSQL".to_owned()));
        }
        // The text could contain a password.
        let reason = "it must be like `sqlite:PATH` or `postgres://user@host/database`";
        Err(SyncError::Target(reason.to_owned()))
    }
}

impl fmt::Display for SyncTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Location::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => address.fmt(f),
        }
    }
}
