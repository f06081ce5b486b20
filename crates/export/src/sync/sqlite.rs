//! Forms in an SQLite database.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use formsvc_table::{ColumnType, OTHER_ANSWERS, TypeSet};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::ViewChanges;
use super::error::SyncError;
use super::form_store::{FormRef, IDS_MAX, rows_to_encode};
use super::labels::{EncodedPage, LabelLimits, LabelSet, RowToEncode, StoredLabel};
use super::names::{form_hash, quoted, view_names};
use crate::lock::FileLock;
use crate::store::{
    PageToWrite, PageWritten, RowStore, SourceKey, StoreError, TransactionError, write_page,
};

/// A view has 2,000 columns, and its statement 1,000,000 bytes.
const LIMITS: LabelLimits = LabelLimits { labels: 1_900, heading_bytes: 200 };

/// A form in an SQLite database.
#[derive(Debug)]
pub(crate) struct SqliteForm {
    store: RowStore,
    source: SourceKey,
    view: String,
    /// The labels as of the last transaction; `None` after a failed one.
    labels: Option<LabelSet>,
    pub(crate) changes: ViewChanges,
    _lock: FileLock,
}

impl SqliteForm {
    /// Opens the database, creates it if there is none, and locks the form.
    pub(crate) fn open(path: &Path, form: FormRef<'_>) -> Result<Self, SyncError> {
        let mut store = RowStore::open(path)?;
        let lock = lock(path, form)?;
        if is_exported(store.connection()).map_err(|error| store.failed(error))? {
            return Err(SyncError::Exported { path: path.to_owned() });
        }
        let source = store.source(form.origin, form.id, form.title)?;
        let (view, labels) = store.transact(|transaction| {
            let view = name_view(transaction, source, form)?;
            let labels = read_labels(transaction, source)?;
            update_view(transaction, source, &view, &labels)?;
            Ok((view, labels))
        })?;
        let changes = ViewChanges::default();
        Ok(Self { store, source, view, labels: Some(labels), changes, _lock: lock })
    }

    pub(crate) fn view(&self) -> &str {
        &self.view
    }

    pub(crate) fn write_page(&mut self, page: &PageToWrite<'_>) -> Result<PageWritten, StoreError> {
        let (source, view, known) = (self.source, &self.view, self.labels.take());
        let (written, labels, encoded) = self.store.transact(|transaction| {
            let mut labels = current_labels(transaction, source, known)?;
            let encoded = labels.encode(&rows_to_encode(page));
            let written = write_page(transaction, source, page, &encoded.rows)?;
            count_new(transaction, source, written.new)?;
            save_labels(transaction, source, view, &mut labels, &encoded)?;
            Ok((written, labels, encoded))
        })?;
        self.changes.add_page(&labels, &encoded, &written.changed);
        self.labels = Some(labels);
        Ok(written)
    }

    pub(crate) fn rows(&self) -> Result<u64, StoreError> {
        let select = "SELECT rows FROM sources WHERE key = ?1";
        let rows = self.store.connection().query_row(select, [self.source.key()], |row| row.get(0));
        rows.map(i64::unsigned_abs).map_err(|error| self.store.failed(error))
    }

    pub(crate) fn overflows(&self) -> Result<Vec<String>, StoreError> {
        self.store.overflows(self.source)
    }

    pub(crate) fn ids_after(&self, after: &str, before: i64) -> Result<Vec<String>, StoreError> {
        const SELECT: &str = "SELECT id FROM submissions WHERE source = ?1 AND id > ?2 \
             AND deleted_at IS NULL AND fetched_at < ?3 ORDER BY id LIMIT ?4";
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut select = self.store.connection().prepare_cached(SELECT)?;
            let values = params![self.source.key(), after, before, IDS_MAX];
            select.query_map(values, |row| row.get(0))?.collect()
        };
        read().map_err(|error| self.store.failed(error))
    }

    pub(crate) fn mark_deleted(&mut self, ids: &[String], now: i64) -> Result<(), StoreError> {
        const MARK: &str = "UPDATE submissions SET deleted_at = ?3 WHERE source = ?1 AND id = ?2";
        let source = self.source.key();
        self.store.transact(|transaction| {
            let mut mark = transaction.prepare_cached(MARK)?;
            for id in ids {
                mark.execute(params![source, id, now])?;
            }
            Ok(())
        })
    }
}

/// Locks a form in a database by a file beside it.
fn lock(path: &Path, form: FormRef<'_>) -> Result<FileLock, SyncError> {
    let path = path.canonicalize().map_err(|error| StoreError::io(path, error))?;
    let mut lock_path = path.into_os_string();
    lock_path.push(format!("-{}.lock", &form_hash(form.origin, form.id)[..8]));
    let lock_path = PathBuf::from(lock_path);
    let lock = FileLock::take(&lock_path).map_err(|error| StoreError::io(&lock_path, error))?;
    lock.ok_or_else(|| SyncError::Locked { form: form.id.to_owned() })
}

/// Returns true for a database that an export rendered: it has labels without a view of `sync`.
fn is_exported(connection: &Connection) -> rusqlite::Result<bool> {
    let select =
        "SELECT EXISTS (SELECT 1 FROM labels JOIN sources ON key = source WHERE view IS NULL)";
    connection.query_row(select, [], |row| row.get(0))
}

/// Returns the name of a form's view. A form without one gets the first free name, and its
/// submissions of an earlier pull get cells.
fn name_view(
    transaction: &Transaction<'_>,
    source: SourceKey,
    form: FormRef<'_>,
) -> Result<String, TransactionError> {
    let select = "SELECT view FROM sources WHERE key = ?1";
    let known: Option<String> = transaction.query_row(select, [source.key()], |row| row.get(0))?;
    if let Some(view) = known {
        return Ok(view);
    }
    let mut is_taken = transaction
        .prepare("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE)")?;
    for view in view_names(form.title, form.origin, form.id) {
        if !is_taken.query_row([&view], |row| row.get(0))? {
            let update = "UPDATE sources SET view = ?2 WHERE key = ?1";
            transaction.execute(update, params![source.key(), view])?;
            fill_cells(transaction, source)?;
            return Ok(view);
        }
    }
    Err(TransactionError::Damaged("all names for the view of the form are taken".to_owned()))
}

fn count_new(transaction: &Transaction<'_>, source: SourceKey, new: u64) -> rusqlite::Result<()> {
    if new > 0 {
        let new = i64::try_from(new).unwrap_or(i64::MAX);
        let update = "UPDATE sources SET rows = rows + ?2 WHERE key = ?1";
        transaction.prepare_cached(update)?.execute([source.key(), new])?;
    }
    Ok(())
}

/// Adds cells to submissions without them.
fn fill_cells(transaction: &Transaction<'_>, source: SourceKey) -> rusqlite::Result<()> {
    let mut labels = read_labels(transaction, source)?;
    let mut select = transaction.prepare(
        "SELECT rowid, data, instant FROM submissions \
         WHERE source = ?1 AND cells IS NULL ORDER BY instant DESC, id",
    )?;
    let mut update = transaction.prepare("UPDATE submissions SET cells = ?2 WHERE rowid = ?1")?;
    let mut rows = select.query([source.key()])?;
    while let Some(row) = rows.next()? {
        let data: String = row.get(1)?;
        let encoded = labels.encode(&[RowToEncode { data: &data, instant: row.get(2)? }]);
        update.execute(params![row.get::<_, i64>(0)?, encoded.rows[0].cells])?;
        count_new(transaction, source, 1)?;
        write_labels(transaction, source, &labels, &encoded)?;
    }
    Ok(())
}

/// Returns the labels of a form; `known` if they are those of the database.
fn current_labels(
    transaction: &Transaction<'_>,
    source: SourceKey,
    known: Option<LabelSet>,
) -> rusqlite::Result<LabelSet> {
    // Labels are only added, so that an equal number means equal labels.
    let mut last =
        transaction.prepare_cached("SELECT max(position) FROM labels WHERE source = ?1")?;
    let last: Option<u32> = last.query_row([source.key()], |row| row.get(0))?;
    let count = last.unwrap_or_default() as usize;
    match known.filter(|known| known.labels().len() == count) {
        Some(known) => Ok(known),
        None => read_labels(transaction, source),
    }
}

fn read_labels(connection: &Connection, source: SourceKey) -> rusqlite::Result<LabelSet> {
    let mut select = connection.prepare_cached(
        "SELECT label, occurrence, coalesce(heading, label), types, first_instant FROM labels \
         WHERE source = ?1 ORDER BY position",
    )?;
    let labels = select.query_map([source.key()], |row| {
        Ok(StoredLabel {
            label: row.get(0)?,
            occurrence: row.get(1)?,
            heading: row.get(2)?,
            types: TypeSet::from_bits(row.get(3)?),
            first_instant: row.get(4)?,
        })
    })?;
    Ok(LabelSet::new(LIMITS, labels.collect::<rusqlite::Result<_>>()?))
}

/// Stores the labels of a page and updates the view if they changed.
fn save_labels(
    transaction: &Transaction<'_>,
    source: SourceKey,
    view: &str,
    labels: &mut LabelSet,
    page: &EncodedPage,
) -> rusqlite::Result<()> {
    let is_new = labels.labels().len() > page.first_new;
    if !is_new && page.widened.is_empty() {
        return Ok(());
    }
    write_labels(transaction, source, labels, page)?;
    // Another process may have stored further types.
    *labels = read_labels(transaction, source)?;
    update_view(transaction, source, view, labels)
}

fn write_labels(
    transaction: &Transaction<'_>,
    source: SourceKey,
    labels: &LabelSet,
    page: &EncodedPage,
) -> rusqlite::Result<()> {
    let mut insert =
        transaction.prepare_cached("INSERT INTO labels VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (position, added) in (1_i64..).zip(labels.labels()).skip(page.first_new) {
        let StoredLabel { label, occurrence, heading, types, first_instant } = added;
        let types = types.bits();
        let key = source.key();
        insert.execute(params![key, position, label, occurrence, heading, types, first_instant])?;
    }
    let mut widen = transaction.prepare_cached(
        "UPDATE labels SET types = types | ?3 WHERE source = ?1 AND position = ?2",
    )?;
    for index in &page.widened {
        let position = i64::try_from(index + 1).unwrap_or(i64::MAX);
        let types = labels.labels()[*index].types.bits();
        widen.execute(params![source.key(), position, types])?;
    }
    Ok(())
}

/// Replaces the view if it is not the one of these labels.
fn update_view(
    transaction: &Transaction<'_>,
    source: SourceKey,
    view: &str,
    labels: &LabelSet,
) -> rusqlite::Result<()> {
    let create = create_view(source, view, labels);
    let select = "SELECT sql FROM sqlite_schema WHERE type = 'view' AND name = ?1";
    let known: Option<String> =
        transaction.query_row(select, [view], |row| row.get(0)).optional()?;
    if known.as_ref() == Some(&create) {
        return Ok(());
    }
    transaction.execute_batch(&format!("DROP VIEW IF EXISTS {};{create}", quoted(view)))
}

fn create_view(source: SourceKey, view: &str, labels: &LabelSet) -> String {
    let mut sql = format!(
        "CREATE VIEW {} AS SELECT id, created_at, json_extract(cells, '$[0]') AS {OTHER_ANSWERS}",
        quoted(view)
    );
    for (position, label) in (1..).zip(labels.labels()) {
        let cell = format!("json_extract(cells, '$[{position}]')");
        let value = match label.types.column_type() {
            ColumnType::Integer => format!("CAST({cell} AS INTEGER)"),
            ColumnType::Real => format!("CAST({cell} AS REAL)"),
            ColumnType::Boolean => format!("({cell} = 'true')"),
            ColumnType::Text | ColumnType::Time => cell,
        };
        let _ = write!(sql, ", {value} AS {}", quoted(&label.heading));
    }
    let key = source.key();
    let _ = write!(sql, " FROM submissions WHERE source = {key} AND deleted_at IS NULL");
    sql
}
