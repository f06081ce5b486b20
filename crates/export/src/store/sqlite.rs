//! Forms in an SQLite database.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use formsvc_table::{LabelLimits, LabelSet, OTHER_ANSWERS, StoredLabel, TypeSet};
use rusqlite::{Connection, OptionalExtension, Transaction, params};
use tempfile::TempDir;
use tokio::time::Instant;

use super::form_store::{FormRef, ViewChanges};
use crate::error::{ExportError, StoreError, StoreProblem, SyncError};
use crate::lock::{FileLock, beside};
use crate::sql::{form_hash, quoted, typed_cell, view_name};
use crate::store::{PageToWrite, PageWritten, RowStore, SourceKey, count_read, write_page};

/// A view has 2,000 columns, and its statement 1,000,000 bytes.
const LIMITS: LabelLimits = LabelLimits { labels: 1_900, heading_bytes: 200 };

/// A form in an SQLite database: of a sync, locked by this process, or of a spool.
#[derive(Debug)]
pub(crate) struct SqliteForm {
    pub(crate) store: RowStore,
    pub(crate) source: SourceKey,
    /// The name of the form's view; `None` in a spool, which has no cells either.
    pub(crate) view: Option<String>,
    pub(crate) changes: ViewChanges,
    /// The lock of the form or of the spool, and the temporary folder of a spool, which must outlive the store.
    pub(crate) guards: (FileLock, Option<Arc<TempDir>>),
}

impl SqliteForm {
    /// Opens the database until a deadline, creates it if there is none, and locks the form.
    pub(crate) fn open(
        path: &Path,
        form: FormRef<'_>,
        deadline: Option<Instant>,
    ) -> Result<Self, ExportError> {
        // Read first: opening it to write changes the mode of its journal.
        if let Some(store) = RowStore::open_existing(path, deadline)?
            && store.run(|connection| Ok(has_foreign_rows(connection)?))?
        {
            return Err(SyncError::Exported(path.to_owned()).into());
        }
        let mut store = RowStore::open(path, deadline)?;
        let lock = lock(path, form)?;
        let source = store.source(form.origin, form.id, form.title)?;
        let view = store.transact(|transaction| {
            let view: String = transaction.query_row(
                "UPDATE sources SET view = coalesce(view, ?2), public_id = coalesce(?3, public_id) \
                 WHERE key = ?1 RETURNING view",
                params![source.0, view_name(form.title, form.origin, form.id), form.public_id],
                |row| row.get(0),
            )?;
            let labels = read_labels(transaction, source)?;
            update_view(transaction, source, &view, &labels)?;
            Ok(view)
        })?;
        let (view, changes, guards) = (Some(view), ViewChanges::default(), (lock, None));
        Ok(Self { store, source, view, changes, guards })
    }

    pub(crate) fn write_page(&mut self, page: &PageToWrite) -> Result<PageWritten, StoreError> {
        let source = self.source;
        let Some(view) = &self.view else { return self.store.write_page(source, page) };
        let (written, labels, encoded) = self.store.transact(|transaction| {
            let mut labels = read_labels(transaction, source)?;
            let encoded = labels.encode(&page.answers());
            let written = write_page(transaction, source, page, &encoded)?;
            if labels.changed().next().is_some() {
                write_labels(transaction, source, &labels)?;
                update_view(transaction, source, view, &labels)?;
            }
            Ok((written, labels, encoded))
        })?;
        self.changes.add_page(&labels, &encoded, &written.changed);
        Ok(written)
    }
}

/// Locks a form in a database by a file beside it.
fn lock(path: &Path, form: FormRef<'_>) -> Result<FileLock, ExportError> {
    let path = path.canonicalize().map_err(|error| StoreError::new(path, error))?;
    let ending = format!("-{}.lock", &form_hash(form.origin, form.id)[..8]);
    let lock_path = beside(&path, &ending);
    let lock = FileLock::take(&lock_path).map_err(|error| StoreError::new(&lock_path, error))?;
    lock.ok_or_else(|| SyncError::Locked(form.id.to_owned()).into())
}

/// Returns true for a database with rows that sync did not store: one of an export or of
/// a pull.
fn has_foreign_rows(connection: &Connection) -> rusqlite::Result<bool> {
    let select = "SELECT EXISTS (SELECT 1 FROM labels WHERE heading IS NULL) OR EXISTS \
         (SELECT 1 FROM sources WHERE view IS NULL AND EXISTS \
         (SELECT 1 FROM submissions WHERE source = key))";
    connection.query_row(select, [], |row| row.get(0))
}

fn read_labels(connection: &Connection, source: SourceKey) -> Result<LabelSet, StoreProblem> {
    let mut select = connection.prepare_cached(
        "SELECT label, heading, types FROM labels WHERE source = ?1 ORDER BY position",
    )?;
    let (mut labels, mut bytes) = (LabelSet::new(LIMITS), 0);
    let mut rows = select.query([source.0])?;
    while let Some(row) = rows.next()? {
        let (label, heading) = (row.get(0)?, row.get(1)?);
        let counted = count_read("labels", &mut bytes, [&label, &heading]);
        counted.map_err(StoreProblem::Damaged)?;
        labels.add_stored(label, heading, TypeSet::from_bits(row.get(2)?));
    }
    Ok(labels)
}

/// Stores new labels, and known ones with further types.
fn write_labels(
    transaction: &Transaction<'_>,
    source: SourceKey,
    labels: &LabelSet,
) -> rusqlite::Result<()> {
    // Unlike a replacement, this fails where an index of the user makes other rows unique.
    const WRITE: &str = "INSERT INTO labels VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (source, position) DO UPDATE SET types = excluded.types";
    let mut write = transaction.prepare_cached(WRITE)?;
    for (position, StoredLabel { label, heading, types, .. }) in labels.changed() {
        write.execute(params![source.0, position, label, heading, types.bits()])?;
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
    for (position, label) in labels.positions() {
        let value = typed_cell(label.types.column_type(), position);
        let _ = write!(sql, ", {value} AS {}", quoted(&label.heading));
    }
    let _ = write!(sql, " FROM submissions WHERE source = {} AND deleted_at IS NULL", source.0);
    sql
}
