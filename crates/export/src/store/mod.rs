//! Stores of submissions, with the coverage they add: the row store, an SQLite database, and databases of
//! the user with cells and views.

mod form_store;
mod objects;
mod open;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
mod rows;
pub(crate) mod schema;
mod sqlite;
mod status;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::path::PathBuf;

use formsvc_client::event::SkippedItem;
use formsvc_client::list::TieOverflow;
use formsvc_client::{Submission, Timestamp};
use formsvc_table::{EncodedRow, StoredRow};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

pub use form_store::ViewChanges;
pub(crate) use form_store::{Finished, FormRef, FormStore};
pub(crate) use open::create_unjournaled;
pub use rows::RowRange;
pub(crate) use rows::{SeenIds, id_hash};
pub(crate) use sqlite::SqliteForm;
pub use status::SyncStatus;

use crate::coverage::{Coverage, Interval};
use crate::error::{StoreError, StoreProblem};
use crate::left_out::LeftOut;

/// Submissions of any number of forms in an SQLite database.
///
/// The rows of a page and the coverage they add are written in one transaction, so that a process
/// that ends at any time leaves a database that another one can continue.
#[derive(Debug)]
pub(crate) struct RowStore {
    connection: Connection,
    path: PathBuf,
}

/// A form of a service, by its key in a row store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceKey(pub(crate) i64);

/// Maximum length of the id of an item that is left out, in bytes.
const MAX_ITEM_ID: usize = 200;

/// Bytes at most that are read into memory of a table other than the submissions: more than this program writes.
const READ_BYTES_MAX: usize = 64 << 20;
/// Bytes in memory of a row, beside its texts.
const ROW_OVERHEAD: usize = 100;

/// A page to write.
#[derive(Debug, Default)]
pub(crate) struct PageToWrite {
    pub(crate) rows: Vec<Submission>,
    /// The interval that the walk has read so far; `None` if the page proves nothing.
    pub(crate) interval: Option<Interval>,
    /// The rows of the page that were left out.
    pub(crate) skipped: Vec<SkippedItem>,
    /// The units of which rows may be missing.
    pub(crate) overflows: Vec<TieOverflow>,
    /// The time of the write, in microseconds since 1970.
    pub(crate) now: i64,
}

/// The effect of a page.
#[derive(Debug, Default)]
pub(crate) struct PageWritten {
    /// Indices of the new rows.
    pub(crate) new: Vec<usize>,
    /// Known rows that came back with other content.
    pub(crate) replaced: u64,
    /// Rows that were marked as deleted, and that the service has.
    pub(crate) restored: u64,
    /// Indices of the rows that were written.
    pub(crate) changed: Vec<usize>,
    /// The coverage of the form, other runs included.
    pub(crate) coverage: Coverage,
}

impl PageToWrite {
    /// Returns the answers of each row.
    pub(crate) fn answers(&self) -> Vec<&str> {
        self.rows.iter().map(|row| row.data.as_json()).collect()
    }

    /// Returns time, key and description of each submission or unit of the cursor that the page leaves out. The
    /// key is empty for a unit. It is a hash for an item without an id, or with one that PostgreSQL cannot
    /// index.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = (i64, Cow<'_, str>, String)> {
        let units = self.overflows.iter();
        let units = units.map(|unit| (unit.start().unix_micros(), "".into(), unit.to_string()));
        let is_usable = |id: &&str| !id.is_empty() && id.len() <= MAX_ITEM_ID && !id.contains('\0');
        let items = self.skipped.iter().map(move |item| {
            let time = item.created_at().map_or(0, Timestamp::unix_micros);
            let hash = || Cow::Owned(format!("#{}", hex::encode(item.content_hash())));
            let key = item.id().filter(is_usable).map_or_else(hash, Cow::Borrowed);
            (time, key, item.to_string())
        });
        units.chain(items)
    }
}

impl PageWritten {
    /// Counts a row that was written, by its index in the page.
    pub(crate) fn add_row(&mut self, index: usize, is_known: bool, is_same: bool) {
        match (is_known, is_same) {
            (false, _) => self.new.push(index),
            (true, false) => self.replaced += 1,
            (true, true) => self.restored += 1,
        }
        self.changed.push(index);
    }
}

impl RowStore {
    /// Returns the key of a form of the service with this address; adds the form if it is new. A title
    /// replaces the stored one.
    pub(crate) fn source(
        &mut self,
        origin: &str,
        form_id: &str,
        title: Option<&str>,
    ) -> Result<SourceKey, StoreError> {
        self.run(|connection| Ok(add_source(connection, origin, form_id, title)?))
    }

    /// Returns the intervals that are stored.
    pub(crate) fn coverage(&self, source: SourceKey) -> Result<Coverage, StoreError> {
        self.run(|connection| read_coverage(connection, source))
    }

    /// Returns the submissions that the stored pages leave out.
    pub(crate) fn left_out(&self, source: SourceKey) -> Result<LeftOut, StoreError> {
        const SELECT: &str = "SELECT item <> '', description FROM left_out WHERE source = ?1 \
             ORDER BY start DESC";
        self.run(|connection| {
            let (mut left_out, mut bytes) = (LeftOut::default(), 0);
            let mut select = connection.prepare(SELECT)?;
            let mut rows = select.query([source.0])?;
            while let Some(row) = rows.next()? {
                let description: String = row.get(1)?;
                if left_out.add_stored(row.get(0)?, &description) {
                    let counted = count_read("left_out", &mut bytes, [&description]);
                    counted.map_err(StoreProblem::Damaged)?;
                }
            }
            Ok(left_out)
        })
    }

    /// Writes a page and its interval, merged with the coverage that other runs wrote meanwhile.
    pub(crate) fn write_page(
        &mut self,
        source: SourceKey,
        page: &PageToWrite,
    ) -> Result<PageWritten, StoreError> {
        self.transact(|transaction| write_page(transaction, source, page, &[]))
    }

    /// Uses the database. An error names its file.
    pub(crate) fn run<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreProblem>,
    ) -> Result<T, StoreError> {
        work(&self.connection).map_err(|problem| StoreError::new(&self.path, problem))
    }

    /// Runs a transaction that no other process can write beside.
    pub(crate) fn transact<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, StoreProblem>,
    ) -> Result<T, StoreError> {
        let run = || {
            let behavior = TransactionBehavior::Immediate;
            let transaction = self.connection.transaction_with_behavior(behavior)?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        };
        run().map_err(|problem: StoreProblem| StoreError::new(&self.path, problem))
    }
}

/// Adds a form if it is new. A title replaces the stored one.
pub(crate) fn add_source(
    connection: &Connection,
    origin: &str,
    form_id: &str,
    title: Option<&str>,
) -> rusqlite::Result<SourceKey> {
    const UPSERT: &str = "INSERT INTO sources (origin, form_id, title) VALUES (?1, ?2, ?3) \
         ON CONFLICT (origin, form_id) DO UPDATE SET title = coalesce(excluded.title, title) \
         RETURNING key";
    let values = params![origin, form_id, title];
    connection.query_row(UPSERT, values, |row| row.get(0).map(SourceKey))
}

fn read_coverage(connection: &Connection, source: SourceKey) -> Result<Coverage, StoreProblem> {
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
        coverage.add(interval.map_err(StoreProblem::Damaged)?);
    }
    Ok(coverage)
}

/// Adds the size of a row that is kept in memory. Returns a reason if the rows of the table are too large: the
/// database may be of another user.
pub(crate) fn count_read<'a>(
    table: &str,
    bytes: &mut usize,
    texts: impl IntoIterator<Item = &'a String>,
) -> Result<(), String> {
    *bytes += ROW_OVERHEAD + texts.into_iter().map(String::len).sum::<usize>();
    let is_small = *bytes <= READ_BYTES_MAX;
    let reason = || format!("table `{table}` has more than {} MiB", READ_BYTES_MAX >> 20);
    if is_small { Ok(()) } else { Err(reason()) }
}

/// Writes a page and merges its interval with those of other runs. `encoded` has the cells of each row,
/// or is empty.
pub(crate) fn write_page(
    transaction: &Transaction<'_>,
    source: SourceKey,
    page: &PageToWrite,
    encoded: &[EncodedRow],
) -> Result<PageWritten, StoreProblem> {
    let mut written = PageWritten::default();
    for (index, row) in page.rows.iter().enumerate() {
        let cells = encoded.get(index).map(|encoded| &*encoded.cells);
        let extra = extra_json(row);
        let row = stored_row(row, &extra);
        if insert_row(transaction, source, &row, cells, page.now)? {
            written.add_row(index, false, false);
        } else if let Some(is_same) = replace_row(transaction, source, &row, cells, page.now)? {
            written.add_row(index, true, is_same);
        }
    }
    let mut insert = transaction.prepare_cached(
        "INSERT INTO left_out VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (source, start, item) DO UPDATE SET description = excluded.description",
    )?;
    for (start, item, description) in page.left_out() {
        insert.execute(params![source.0, start, item, description])?;
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

/// Inserts a row; returns false if its id is known.
pub(crate) fn insert_row(
    connection: &Connection,
    source: SourceKey,
    row: &StoredRow<'_>,
    cells: Option<&str>,
    now: i64,
) -> rusqlite::Result<bool> {
    const INSERT: &str = "INSERT INTO submissions \
         (source, id, created_at, instant, data, extra, fetched_at, cells) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (source, id) DO NOTHING";
    let StoredRow { id, created_at, instant, data, extra } = row;
    let values = params![source.0, id, created_at, instant, data, extra, now, cells];
    Ok(connection.prepare_cached(INSERT)?.execute(values)? == 1)
}

/// Replaces a known row with other content, and one that is marked as deleted: the service has it.
/// Returns whether the content is the same; `None` if nothing changed.
fn replace_row(
    transaction: &Transaction<'_>,
    source: SourceKey,
    row: &StoredRow<'_>,
    cells: Option<&str>,
    now: i64,
) -> rusqlite::Result<Option<bool>> {
    const KNOWN: &str = "SELECT created_at = ?3 AND data = ?4 AND extra = ?5, deleted_at IS NULL \
         FROM submissions WHERE source = ?1 AND id = ?2";
    const REPLACE: &str = "UPDATE submissions SET created_at = ?3, instant = ?4, data = ?5, \
         extra = ?6, fetched_at = ?7, cells = ?8, deleted_at = NULL \
         WHERE source = ?1 AND id = ?2";
    let StoredRow { id, created_at, instant, data, extra } = row;
    let (is_same, is_current): (bool, bool) = transaction
        .prepare_cached(KNOWN)?
        .query_row(params![source.0, id, created_at, data, extra], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    if is_same && is_current {
        return Ok(None);
    }
    let values = params![source.0, id, created_at, instant, data, extra, now, cells];
    transaction.prepare_cached(REPLACE)?.execute(values)?;
    Ok(Some(is_same))
}

/// Returns a submission as it is stored; `extra` are its unknown members.
pub(crate) fn stored_row<'a>(row: &'a Submission, extra: &'a str) -> StoredRow<'a> {
    StoredRow {
        id: row.id.as_str(),
        created_at: row.created_at.as_str(),
        instant: row.created_at.unix_micros(),
        data: row.data.as_json(),
        extra,
    }
}

/// Returns the members of a submission that this release does not know, as a JSON object; empty if
/// there are none.
pub(crate) fn extra_json(row: &Submission) -> String {
    if row.extra.iter().next().is_none() {
        return String::new();
    }
    serde_json::to_string(&row.extra).expect("exact JSON serializes")
}
