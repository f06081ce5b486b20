//! Descriptions of spools, for lists of unfinished exports.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::OptionalExtension;

use super::lock::{SpoolLock, beside};
use crate::store::{RowRange, RowStore, SourceKey, StoreError};

/// A spool of an export that is not finished.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpoolInfo {
    /// The database.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last write.
    pub modified: SystemTime,
    /// Whether a process uses it now.
    pub in_use: bool,
    /// The content; an error if the database cannot be read.
    pub content: Result<SpoolContent, String>,
}

/// The content of a spool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpoolContent {
    /// The address of the service.
    pub origin: String,
    /// The form.
    pub form_id: String,
    /// Its title.
    pub title: Option<String>,
    /// Number of submissions.
    pub rows: u64,
    /// Times of the newest and of the oldest submission.
    pub newest_and_oldest: Option<(String, String)>,
    /// The command that continues the export.
    pub command: Option<String>,
}

/// Describes a spool; `None` if it was removed meanwhile.
pub(super) fn describe(path: &Path) -> Option<SpoolInfo> {
    let (size, modified) = size_and_time(path)?;
    let in_use = matches!(SpoolLock::take(path), Ok(None));
    let content = read_content(path).map_err(|error| error.to_string());
    Some(SpoolInfo { path: path.to_owned(), size, modified, in_use, content })
}

fn read_content(path: &Path) -> Result<SpoolContent, StoreError> {
    let store = RowStore::open_read_only(path)?;
    let read = || -> rusqlite::Result<SpoolContent> {
        let connection = store.connection();
        let (key, origin, form_id, title): (i64, _, _, _) =
            connection.query_row("SELECT key, origin, form_id, title FROM sources", [], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })?;
        let end = |order: &str| {
            let select = format!(
                "SELECT created_at FROM submissions WHERE source = ?1 ORDER BY instant {order} LIMIT 1"
            );
            connection.query_row(&select, [key], |row| row.get(0)).optional()
        };
        let newest_and_oldest = end("DESC")?.zip(end("ASC")?);
        let command =
            connection.query_row("SELECT command FROM spool", [], |row| row.get(0)).optional()?;
        let command = command.flatten();
        Ok(SpoolContent { origin, form_id, title, rows: 0, newest_and_oldest, command })
    };
    let mut content = read().map_err(|error| store.failed(error))?;
    let source = store.connection().query_row("SELECT key FROM sources", [], |row| row.get(0));
    let source = SourceKey::from_key(source.map_err(|error| store.failed(error))?);
    content.rows = store.count(source, RowRange::default(), u64::MAX)?;
    Ok(content)
}

pub(super) fn size_and_time(database: &Path) -> Option<(u64, SystemTime)> {
    let main = fs::metadata(database).ok()?;
    let log = fs::metadata(beside(database, "-wal")).ok();
    let size = main.len() + log.as_ref().map_or(0, fs::Metadata::len);
    let modified = log.and_then(|log| log.modified().ok()).max(main.modified().ok())?;
    Some((size, modified))
}
