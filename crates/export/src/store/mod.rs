//! The row store: submissions in an SQLite database, with the coverage they add.

#[cfg(feature = "postgres")]
mod copy;
mod error;
mod open;
mod rows;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use formsvc_client::{Submission, TieOverflow};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

pub use error::{StoreError, StoreProblem};
pub use rows::{RowRange, StoredRows};

use crate::coverage::{Coverage, Interval};
use crate::sync::labels::EncodedRow;

/// Submissions of any number of forms in an SQLite database.
///
/// The rows of a page and the coverage they add are written in one transaction, so that a process
/// that ends at any time leaves a database that another one can continue.
#[derive(Debug)]
pub struct RowStore {
    connection: Connection,
    path: PathBuf,
}

/// A form of a service, by its key in a row store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceKey(i64);

impl SourceKey {
    pub(crate) fn from_key(key: i64) -> Self {
        Self(key)
    }

    pub(crate) fn key(self) -> i64 {
        self.0
    }
}

/// A page to write.
#[derive(Debug)]
pub(crate) struct PageToWrite<'a> {
    pub(crate) rows: &'a [Submission],
    /// The interval that the walk has read so far; `None` if the page proves nothing.
    pub(crate) interval: Option<Interval>,
    /// The units of which rows may be missing.
    pub(crate) overflows: &'a [TieOverflow],
    /// The time of the write, in microseconds since 1970.
    pub(crate) now: i64,
}

/// The effect of a page.
#[derive(Debug, Default)]
pub(crate) struct PageWritten {
    pub(crate) new: u64,
    /// Known rows that came back with other content.
    pub(crate) replaced: u64,
    /// Rows that were marked as deleted, and that the service has.
    pub(crate) restored: u64,
    /// Indices of the rows that were written.
    pub(crate) changed: Vec<usize>,
    /// The coverage of the form, other runs included.
    pub(crate) coverage: Coverage,
}

impl RowStore {
    /// Returns the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the key of a form of the service with this address; adds the form if it is new. A title
    /// replaces the stored one.
    pub fn source(
        &mut self,
        origin: &str,
        form_id: &str,
        title: Option<&str>,
    ) -> Result<SourceKey, StoreError> {
        const UPSERT: &str = "INSERT INTO sources (origin, form_id, title) VALUES (?1, ?2, ?3) \
             ON CONFLICT (origin, form_id) DO UPDATE SET title = coalesce(excluded.title, title) \
             RETURNING key";
        let key =
            self.connection.query_row(UPSERT, params![origin, form_id, title], |row| row.get(0));
        key.map(SourceKey).map_err(|error| self.failed(error))
    }

    /// Returns the intervals that are stored.
    pub fn coverage(&self, source: SourceKey) -> Result<Coverage, StoreError> {
        read_coverage(&self.connection, source).map_err(|error| self.unreadable(error))
    }

    /// Returns the descriptions of the units of the service's cursor of which submissions may be
    /// missing, newest first.
    pub fn overflows(&self, source: SourceKey) -> Result<Vec<String>, StoreError> {
        const SELECT: &str =
            "SELECT description FROM overflows WHERE source = ?1 ORDER BY start DESC";
        let read = || -> rusqlite::Result<Vec<String>> {
            self.connection.prepare(SELECT)?.query_map([source.0], |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.failed(error))
    }

    /// Writes a page and its interval, merged with the coverage that other runs wrote meanwhile.
    pub(crate) fn write_page(
        &mut self,
        source: SourceKey,
        page: &PageToWrite<'_>,
    ) -> Result<PageWritten, StoreError> {
        self.transact(|transaction| write_page(transaction, source, page, &[]))
    }

    /// Runs a transaction that no other process can write beside.
    pub(crate) fn transact<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, TransactionError>,
    ) -> Result<T, StoreError> {
        let begun = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let written = begun.map_err(TransactionError::from).and_then(|transaction| {
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        });
        written.map_err(|error| self.unreadable(error))
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(crate) fn failed(&self, error: rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.path, error)
    }

    fn unreadable(&self, error: TransactionError) -> StoreError {
        match error {
            TransactionError::Sqlite(error) => self.failed(error),
            TransactionError::Damaged(what) => {
                StoreError::new(&self.path, StoreProblem::Damaged(what))
            }
        }
    }
}

/// A transaction failed.
#[derive(Debug)]
pub(crate) enum TransactionError {
    Sqlite(rusqlite::Error),
    Damaged(String),
}

impl From<rusqlite::Error> for TransactionError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

fn read_coverage(connection: &Connection, source: SourceKey) -> Result<Coverage, TransactionError> {
    let mut select = connection.prepare_cached(
        "SELECT newest, oldest, resume, completeness FROM coverage WHERE source = ?1",
    )?;
    let mut found = select.query([source.0])?;
    let mut coverage = Coverage::default();
    while let Some(row) = found.next()? {
        let interval = Interval::from_stored(
            (row.get(0)?, row.get(1)?),
            row.get(2)?,
            row.get_ref(3)?.as_str().map_err(rusqlite::Error::from)?,
        );
        coverage.add(interval.map_err(TransactionError::Damaged)?);
    }
    Ok(coverage)
}

/// Writes a page and merges its interval with those of other runs. `encoded` has the cells of each row,
/// or is empty.
pub(crate) fn write_page(
    transaction: &Transaction<'_>,
    source: SourceKey,
    page: &PageToWrite<'_>,
    encoded: &[EncodedRow],
) -> Result<PageWritten, TransactionError> {
    let mut written = PageWritten::default();
    for (index, row) in page.rows.iter().enumerate() {
        let cells = encoded.get(index).map(|encoded| &*encoded.cells);
        match write_row(transaction, source, row, cells, page.now)? {
            RowChange::New => written.new += 1,
            RowChange::Replaced => written.replaced += 1,
            RowChange::Restored => written.restored += 1,
            RowChange::None => continue,
        }
        written.changed.push(index);
    }
    let mut insert =
        transaction.prepare_cached("INSERT OR REPLACE INTO overflows VALUES (?1, ?2, ?3)")?;
    for overflow in page.overflows {
        let start = overflow.start().unix_micros();
        insert.execute(params![source.0, start, overflow.to_string()])?;
    }
    written.coverage = read_coverage(transaction, source)?;
    if let Some(interval) = &page.interval
        && written.coverage.add(interval.clone())
    {
        write_coverage(transaction, source, &written.coverage)?;
    }
    Ok(written)
}

fn write_coverage(
    transaction: &Transaction<'_>,
    source: SourceKey,
    coverage: &Coverage,
) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM coverage WHERE source = ?1")?.execute([source.0])?;
    let mut insert =
        transaction.prepare_cached("INSERT INTO coverage VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for Interval { newest, oldest, resume, completeness } in coverage.intervals() {
        insert.execute(params![source.0, newest, oldest, resume, completeness.as_str()])?;
    }
    Ok(())
}

enum RowChange {
    New,
    Replaced,
    Restored,
    None,
}

/// Inserts a row, or replaces a known one with other content. A row that the service has is not
/// deleted.
fn write_row(
    transaction: &Transaction<'_>,
    source: SourceKey,
    row: &Submission,
    cells: Option<&str>,
    now: i64,
) -> rusqlite::Result<RowChange> {
    const INSERT: &str = "INSERT INTO submissions \
         (source, id, created_at, instant, data, extra, fetched_at, cells) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (source, id) DO NOTHING";
    const KNOWN: &str = "SELECT created_at = ?3 AND data = ?4 AND extra = ?5, deleted_at IS NULL \
         FROM submissions WHERE source = ?1 AND id = ?2";
    const REPLACE: &str = "UPDATE submissions SET created_at = ?3, instant = ?4, data = ?5, \
         extra = ?6, fetched_at = ?7, cells = ?8, deleted_at = NULL \
         WHERE source = ?1 AND id = ?2";
    let (id, created_at, extra) = (row.id.as_str(), row.created_at.as_str(), extra_json(row));
    let (instant, data) = (row.created_at.unix_micros(), row.data.as_json());
    let values = params![source.0, id, created_at, instant, data, extra, now, cells];
    if transaction.prepare_cached(INSERT)?.execute(values)? == 1 {
        return Ok(RowChange::New);
    }
    let mut known = transaction.prepare_cached(KNOWN)?;
    let known: Option<(bool, bool)> = known
        .query_row(params![source.0, id, created_at, data, extra], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    match known {
        Some((true, true)) | None => Ok(RowChange::None),
        Some((is_same, _)) => {
            transaction.prepare_cached(REPLACE)?.execute(values)?;
            Ok(if is_same { RowChange::Restored } else { RowChange::Replaced })
        }
    }
}

/// The members of a submission that this release does not know, as a JSON object; empty if there are
/// none.
pub(crate) fn extra_json(row: &Submission) -> String {
    let mut text = String::new();
    for (name, value) in row.extra.iter() {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(&serde_json::Value::from(name).to_string());
        text.push(':');
        text.push_str(value.get());
    }
    if !text.is_empty() {
        text.push('}');
    }
    text
}
