//! SQLite databases: the tables of the row store, and a view per form with typed columns.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use formsvc_table::{Column, ColumnType, StoredRow, Value};
use rusqlite::{Connection, params};

use crate::format::{RowFormat, SourceInfo};
use crate::remark::Remark;

/// Columns of answers, so that those of the table itself and of unknown members fit beside them: a view
/// has 2,000 columns.
pub(crate) const ANSWERS_MAX: usize = 1_890;
/// Bytes of a heading, so that the statement of the view stays below SQLite's limit of 1,000,000.
pub(crate) const HEADING_BYTES_MAX: usize = 200;
/// Names that no view can have.
const TABLES: [&str; 7] = ["", "meta", "sources", "submissions", "labels", "coverage", "overflows"];
/// The key of the only form.
const SOURCE: i64 = 1;

pub(crate) struct SqliteFormat {
    database: Connection,
    source: SourceInfo,
    columns: Vec<Column>,
    replaced: u64,
}

impl SqliteFormat {
    /// Opens an empty file. It needs no journal, because an incomplete file is never published.
    pub(crate) fn new(path: &Path, source: &SourceInfo) -> io::Result<Self> {
        let database = Connection::open(path).map_err(io_error)?;
        let pragmas = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;";
        database.execute_batch(pragmas).map_err(io_error)?;
        Ok(Self { database, source: source.clone(), columns: Vec::new(), replaced: 0 })
    }

    fn create_tables(&self) -> rusqlite::Result<()> {
        self.database.execute_batch(include_str!("../store/schema.sql"))?;
        let SourceInfo { origin, form_id, title } = &self.source;
        self.database.execute(
            "INSERT INTO sources (key, origin, form_id, title) VALUES (?1, ?2, ?3, ?4)",
            params![SOURCE, origin, form_id, title],
        )?;
        let mut insert = self.database.prepare(
            "INSERT INTO labels (source, position, label, first_instant) VALUES (?1, ?2, ?3, 0)",
        )?;
        for (position, column) in (0_i64..).zip(&self.columns) {
            insert.execute(params![SOURCE, position, column.heading])?;
        }
        Ok(())
    }

    fn insert(&mut self, row: &StoredRow<'_>, cells: &[Value<'_>]) -> rusqlite::Result<()> {
        let texts = cells.iter().map(|cell| match cell {
            Value::Empty => None,
            cell => Some(without_nul(cell.text())),
        });
        let texts: Vec<Option<Cow<'_, str>>> = texts.collect();
        let is_replaced = |text: &&Option<Cow<'_, str>>| matches!(text, Some(Cow::Owned(_)));
        self.replaced += texts.iter().filter(is_replaced).count() as u64;
        let cells = serde_json::to_string(&texts).expect("text serializes");
        let mut insert = self.database.prepare_cached(
            "INSERT INTO submissions (source, id, created_at, instant, data, extra, cells, fetched_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?4)",
        )?;
        let values =
            params![SOURCE, row.id, row.created_at, row.instant, row.data, row.extra, cells,];
        insert.execute(values).map(|_| ())
    }

    fn create_view(&self) -> rusqlite::Result<()> {
        let mut view = format!("CREATE VIEW {} AS SELECT ", quoted(&view_name(&self.source)));
        for (position, column) in self.columns.iter().enumerate() {
            let separator = if position == 0 { "" } else { ", " };
            let value = match (column.heading.as_str(), column.is_answer) {
                ("id" | "created_at", false) => column.heading.clone(),
                _ => typed(column.column_type, &format!("json_extract(cells, '$[{position}]')")),
            };
            let _ = write!(view, "{separator}{value} AS {}", quoted(&column.heading));
        }
        if self.columns.is_empty() {
            view.push_str("NULL");
        }
        let _ = write!(
            view,
            " FROM submissions WHERE source = {SOURCE} AND deleted_at IS NULL \
             ORDER BY instant DESC, id"
        );
        self.database.execute_batch(&view)
    }
}

impl RowFormat for SqliteFormat {
    fn begin(&mut self, columns: &[Column]) -> io::Result<()> {
        self.columns = columns.to_vec();
        self.create_tables().map_err(io_error)
    }

    fn row(&mut self, row: &StoredRow<'_>, cells: Vec<Value<'_>>) -> io::Result<()> {
        self.insert(row, &cells).map_err(io_error)
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<Remark>> {
        self.create_view().map_err(io_error)?;
        self.database.execute_batch("COMMIT").map_err(io_error)?;
        self.database.close().map_err(|(_, error)| io_error(error))?;
        Ok(Remark::counted(Remark::ReplacedCharacters, self.replaced).into_iter().collect())
    }
}

/// Returns the expression of a typed column; `text` is the expression of its text.
fn typed(column_type: ColumnType, text: &str) -> String {
    match column_type {
        ColumnType::Integer => format!("CAST({text} AS INTEGER)"),
        ColumnType::Real => format!("CAST({text} AS REAL)"),
        ColumnType::Boolean => format!("({text} = 'true')"),
        ColumnType::Text | ColumnType::Time => text.to_owned(),
    }
}

/// Returns the name of a form's view: its id, or `answers` if there is none.
fn view_name(source: &SourceInfo) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let id: String =
        source.form_id.chars().map(|c| if is_plain(c) { c } else { '_' }).take(100).collect();
    let is_taken =
        TABLES.contains(&&*id.to_lowercase()) || id.to_lowercase().starts_with("sqlite_");
    if is_taken { "answers".into() } else { id }
}

/// Returns an identifier in quotation marks. A NUL would end the statement.
fn quoted(name: &str) -> String {
    format!("\"{}\"", without_nul(name).replace('"', "\"\""))
}

/// Replaces NUL, because SQLite's functions treat it as the end of a text.
fn without_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "\u{fffd}").into() } else { text.into() }
}

fn io_error(error: rusqlite::Error) -> io::Error {
    match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => io::Error::new(io::ErrorKind::StorageFull, error),
        _ => io::Error::other(error),
    }
}
