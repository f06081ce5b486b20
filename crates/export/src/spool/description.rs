//! Descriptions of spools, for lists of unfinished exports.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use formsvc_client::Timestamp;

use rusqlite::Row;

use super::lock_spool;
use crate::error::StoreError;
use crate::lock::beside;
use crate::store::RowStore;

/// A spool of an export that is not finished.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SpoolInfo {
    /// The database.
    pub path: PathBuf,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last write.
    pub modified: Timestamp,
    /// Whether a process uses it now.
    pub in_use: bool,
    /// The content; an error if the database cannot be read.
    pub content: Result<SpoolContent, String>,
}

impl SpoolInfo {
    /// Returns true if the spool has no submissions. A spool that cannot be read may have some.
    pub(super) fn is_empty(&self) -> bool {
        self.content.as_ref().is_ok_and(|content| content.rows == 0)
    }
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
    pub newest_and_oldest: Option<(Timestamp, Timestamp)>,
    /// The command that continues the export.
    pub command: Option<String>,
}

/// Describes a spool; `None` if it was removed meanwhile.
pub(super) fn describe(path: &Path) -> Option<SpoolInfo> {
    let (size, modified) = size_and_time(path)?;
    let in_use = matches!(lock_spool(path), Ok(None));
    let content = read_content(path).map_err(|error| error.to_string());
    let modified = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let nanos = i128::try_from(modified.as_nanos()).unwrap_or_default();
    let modified = Timestamp::from_unix_nanos(nanos)?;
    Some(SpoolInfo { path: path.to_owned(), size, modified, in_use, content })
}

fn read_content(path: &Path) -> Result<SpoolContent, StoreError> {
    const SELECT: &str = "SELECT origin, form_id, title, (SELECT count(*) FROM submissions), \
         (SELECT created_at FROM submissions ORDER BY instant DESC LIMIT 1), \
         (SELECT created_at FROM submissions ORDER BY instant LIMIT 1), \
         (SELECT command FROM spool) FROM sources";
    let store = RowStore::open_read_only(path, None)?;
    let read = |row: &Row<'_>| {
        let time = |at| -> rusqlite::Result<Option<Timestamp>> {
            Ok(row.get::<_, Option<String>>(at)?.and_then(|text| text.parse().ok()))
        };
        let (newest, oldest) = (time(4)?, time(5)?);
        Ok(SpoolContent {
            origin: row.get(0)?,
            form_id: row.get(1)?,
            title: row.get(2)?,
            rows: row.get::<_, i64>(3)?.unsigned_abs(),
            newest_and_oldest: newest.zip(oldest),
            command: row.get(6)?,
        })
    };
    store.run(|connection| Ok(connection.query_row(SELECT, [], read)?))
}

pub(super) fn size_and_time(database: &Path) -> Option<(u64, SystemTime)> {
    let main = fs::metadata(database).ok()?;
    // Reading creates an empty log.
    let log = fs::metadata(beside(database, "-wal")).ok().filter(|log| log.len() > 0);
    let size = main.len() + log.as_ref().map_or(0, fs::Metadata::len);
    let modified = log.and_then(|log| log.modified().ok()).max(main.modified().ok())?;
    Some((size, modified))
}
