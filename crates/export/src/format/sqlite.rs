//! SQLite databases: the tables of the row store, and a view per form with typed columns.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use formsvc_table::{Column, StoredRow, Value};
use rusqlite::{Connection, params};

use crate::format::{RowFormat, SourceInfo};
use crate::remark::Remark;
use crate::sql::{quoted, typed_cell, without_nul};
use crate::store::schema::TABLES;
use crate::store::{SourceKey, add_source, create_unjournaled, insert_row};

/// Columns of answers, so that those of the table itself and of unknown members fit beside them: a view
/// has 2,000 columns.
pub(crate) const ANSWERS_MAX: usize = 1_890;
/// Bytes of a heading, so that the statement of the view stays below SQLite's limit of 1,000,000.
pub(crate) const HEADING_BYTES_MAX: usize = 200;

pub(crate) struct SqliteFormat {
    database: Connection,
    /// The key of the only form.
    key: SourceKey,
    view: String,
    columns: Vec<Column>,
    replaced: u64,
}

impl SqliteFormat {
    /// Creates the tables in an empty file.
    pub(crate) fn new(path: &Path, source: &SourceInfo) -> io::Result<Self> {
        let SourceInfo { origin, form_id, title } = source;
        let create = || -> rusqlite::Result<_> {
            let database = create_unjournaled(path)?;
            let key = add_source(&database, origin, form_id, Some(title))?;
            Ok((database, key))
        };
        let (database, key) = create().map_err(io_error)?;
        Ok(Self { database, key, view: view_name(form_id), columns: Vec::new(), replaced: 0 })
    }

    fn insert_labels(&self) -> rusqlite::Result<()> {
        let mut insert = self
            .database
            .prepare("INSERT INTO labels (source, position, label) VALUES (?1, ?2, ?3)")?;
        for (position, column) in (0_i64..).zip(&self.columns) {
            insert.execute(params![self.key.0, position, column.heading])?;
        }
        Ok(())
    }

    fn insert(&mut self, row: &StoredRow<'_>, cells: &[Value<'_>]) -> rusqlite::Result<bool> {
        let texts = cells.iter().map(|cell| match cell {
            Value::Empty => None,
            cell => Some(without_nul(cell.text())),
        });
        let texts: Vec<Option<Cow<'_, str>>> = texts.collect();
        let is_replaced = |text: &&Option<Cow<'_, str>>| matches!(text, Some(Cow::Owned(_)));
        self.replaced += texts.iter().filter(is_replaced).count() as u64;
        let cells = serde_json::to_string(&texts).expect("text serializes");
        insert_row(&self.database, self.key, row, Some(&cells), row.instant)
    }

    fn create_view(&self) -> rusqlite::Result<()> {
        let columns = self.columns.iter().enumerate().map(|(position, column)| {
            let value = match (column.heading.as_str(), column.is_answer) {
                ("id" | "created_at", false) => column.heading.clone(),
                _ => typed_cell(column.column_type, position),
            };
            format!("{value} AS {}", quoted(&column.heading))
        });
        let columns: Vec<String> = columns.collect();
        let columns = if columns.is_empty() { "NULL".to_owned() } else { columns.join(", ") };
        self.database.execute_batch(&format!(
            "CREATE VIEW {} AS SELECT {columns} FROM submissions \
             WHERE source = {} AND deleted_at IS NULL ORDER BY instant DESC, id",
            quoted(&self.view),
            self.key.0
        ))
    }
}

impl RowFormat for SqliteFormat {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.columns = columns.to_vec();
        self.insert_labels().map_err(io_error)
    }

    fn row(&mut self, row: &StoredRow<'_>, cells: Vec<Value<'_>>) -> io::Result<()> {
        if self.insert(row, &cells).map_err(io_error)? {
            return Ok(());
        }
        Err(io::Error::other(format!("submission `{}` occurs twice", row.id)))
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<Remark>> {
        self.create_view().map_err(io_error)?;
        self.database.execute_batch("COMMIT").map_err(io_error)?;
        self.database.close().map_err(|(_, error)| io_error(error))?;
        Ok(Remark::counted(Remark::ReplacedCharacters, self.replaced).into_iter().collect())
    }
}

/// Returns the name of a form's view: its id, or `answers` if there is none.
fn view_name(form_id: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let id: String = form_id.chars().map(|c| if is_plain(c) { c } else { '_' }).take(100).collect();
    let lower = id.to_lowercase();
    let is_taken = TABLES.contains(&&*lower) || lower.starts_with("sqlite_");
    if id.is_empty() || is_taken { "answers".into() } else { id }
}

fn io_error(error: rusqlite::Error) -> io::Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => io::Error::new(io::ErrorKind::StorageFull, error),
        _ => io::Error::other(error),
    }
}
