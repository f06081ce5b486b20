//! The forms of a database, and how completely it has their submissions.

use std::path::Path;

use super::SyncStore;
use super::target::Location;
use crate::coverage::Coverage;
use crate::error::ExportError;
use crate::store::{RowStore, SourceKey, StoreError};

/// A form in a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SyncStatus {
    /// The address of the service.
    pub origin: String,
    /// The form.
    pub form_id: String,
    /// Its title.
    pub title: Option<String>,
    /// The view of the form; `None` before its first sync has begun.
    pub view: Option<String>,
    /// Submissions that the service has, as far as known.
    pub rows: u64,
    /// Submissions that are marked as deleted.
    pub deleted: u64,
    /// `created_at` of the newest submission.
    pub newest: Option<String>,
    /// The time intervals of which every submission is stored. A complete form has one.
    pub coverage: Coverage,
    /// The key of the form.
    pub(crate) key: i64,
}

impl SyncStatus {
    /// Returns true if every submission made at this time or later is stored, except the newest ones.
    pub fn reaches(&self, since: i64) -> bool {
        self.coverage.reaches(since)
    }
}

impl SyncStore {
    /// Describes the forms of the database, in the order in which they were added.
    pub async fn status(&self) -> Result<Vec<SyncStatus>, ExportError> {
        match &self.location {
            Location::Sqlite(path) => Ok(read_sqlite(path)?),
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => {
                Ok(super::postgres::read_status(address).await.map_err(super::SyncError::from)?)
            }
        }
    }
}

fn read_sqlite(path: &Path) -> Result<Vec<SyncStatus>, StoreError> {
    // A run that was interrupted at its start leaves a database without tables.
    let Some(store) = RowStore::open_created(path)? else { return Ok(Vec::new()) };
    let mut forms = read_forms(&store).map_err(|error| store.failed(error))?;
    for form in &mut forms {
        form.coverage = store.coverage(SourceKey::from_key(form.key))?;
    }
    Ok(forms)
}

fn read_forms(store: &RowStore) -> rusqlite::Result<Vec<SyncStatus>> {
    let connection = store.connection();
    let mut newest = connection.prepare(
        "SELECT max(created_at) FROM (SELECT created_at FROM submissions WHERE source = ?1 \
         ORDER BY instant DESC LIMIT 1)",
    )?;
    // Sync keeps the number of rows; an export and a pull do not.
    let mut select = connection.prepare(
        "SELECT key, origin, form_id, title, view, \
         iif(view IS NULL, (SELECT count(*) FROM submissions WHERE source = key), rows), \
         (SELECT count(*) FROM submissions WHERE source = key AND deleted_at IS NOT NULL) \
         FROM sources ORDER BY key",
    )?;
    let forms = select.query_map([], |row| {
        let key: i64 = row.get(0)?;
        let (all, deleted): (i64, i64) = (row.get(5)?, row.get(6)?);
        Ok(SyncStatus {
            origin: row.get(1)?,
            form_id: row.get(2)?,
            title: row.get(3)?,
            view: row.get(4)?,
            rows: (all - deleted).unsigned_abs(),
            deleted: deleted.unsigned_abs(),
            newest: newest.query_row([key], |row| row.get(0))?,
            coverage: Coverage::default(),
            key,
        })
    })?;
    forms.collect()
}
