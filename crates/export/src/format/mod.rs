//! Formats of rendered files: one module each, one row each in [`FORMATS`].

mod csv;
mod json;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod sqlite;
#[cfg(feature = "xlsx")]
mod xlsx;

use std::io::{self, Write};
use std::path::Path;

use formsvc_table::{Column, StoredRow, TableOptions, Value};

use crate::compress::Compression;
use crate::remark::Remark;

pub(crate) use csv::CsvFormat;
pub(crate) use json::JsonFormat;
pub use options::{RenderOptions, RowFilter};
#[cfg(feature = "xlsx")]
pub use xlsx::is_catching_panics;

/// Columns of answers of a workbook, so that those of the table itself and of unknown members fit beside
/// them: a sheet has 16,384 columns.
const XLSX_ANSWERS_MAX: usize = 16_250;

/// A format of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// One JSON object per line.
    Ndjson,
    /// One JSON array.
    Json,
    /// A workbook of Excel and other spreadsheets, in builds with the feature `xlsx`.
    Xlsx,
    /// An SQLite database.
    Sqlite,
    /// Apache Parquet, in builds with the feature `parquet`.
    Parquet,
}

/// Description of a format.
#[derive(Clone, Copy, Debug)]
pub struct FormatRow {
    /// The format.
    pub format: Format,
    /// Its name on a command line.
    pub name: &'static str,
    /// File name endings of the format.
    pub extensions: &'static [&'static str],
    /// A description of one line.
    pub about: &'static str,
}

/// Every format.
pub const FORMATS: &[FormatRow] = {
    use Format::{Csv, Json, Ndjson, Parquet, Sqlite, Tsv, Xlsx};
    &[
        row(Csv, "csv", &["csv"], "comma-separated values (RFC 4180), one column per question"),
        row(Tsv, "tsv", &["tsv", "tab"], "tab-separated values, quoted like CSV"),
        row(
            Ndjson,
            "ndjson",
            &["ndjson", "jsonl"],
            "one JSON object per line, answers byte for byte",
        ),
        row(Json, "json", &["json"], "one JSON array, answers byte for byte"),
        row(Xlsx, "xlsx", &["xlsx"], "a workbook for spreadsheets, text as text"),
        row(
            Sqlite,
            "sqlite",
            &["sqlite", "sqlite3", "db"],
            "an SQLite database with exact answers and a view with typed columns",
        ),
        row(
            Parquet,
            "parquet",
            &["parquet"],
            "Apache Parquet with typed columns, for DuckDB, pandas and Spark",
        ),
    ]
};

const fn row(
    format: Format,
    name: &'static str,
    extensions: &'static [&'static str],
    about: &'static str,
) -> FormatRow {
    FormatRow { format, name, extensions, about }
}

impl Format {
    /// Returns the format of a file name's ending, without compression.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        FORMATS.iter().find(|row| row.extensions.contains(&&*extension)).map(|row| row.format)
    }

    /// Returns the name on a command line.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|row| row.format == self).map_or("", |row| row.name)
    }

    /// Returns true if this build can write the format.
    pub fn is_available(self) -> bool {
        match self {
            Self::Parquet => cfg!(feature = "parquet"),
            Self::Xlsx => cfg!(feature = "xlsx"),
            _ => true,
        }
    }

    /// Returns true if the format has columns; false if it writes each row as a JSON object.
    pub fn is_table(self) -> bool {
        !matches!(self, Self::Ndjson | Self::Json)
    }

    /// Returns true if the format is written from its beginning to its end, and can be compressed. Other
    /// formats need a file.
    pub fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::Ndjson | Self::Json)
    }
}

/// A format and its compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileFormat {
    /// The format.
    pub format: Format,
    /// The compression, for text formats.
    pub compression: Compression,
}

impl FileFormat {
    /// Returns the format of a file name such as `rows.csv` or `rows.ndjson.gz`.
    pub fn from_path(path: &Path) -> Option<Self> {
        let compression = match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gz" => Compression::Gzip,
            "zst" => Compression::Zstd,
            _ => Compression::None,
        };
        let stem = path.file_stem().map(Path::new);
        let path = if compression == Compression::None { Some(path) } else { stem };
        let format = path.and_then(Format::from_path)?;
        let is_valid = format.is_text() || compression == Compression::None;
        is_valid.then_some(Self { format, compression })
    }

    /// Returns the format of a name such as `csv` or `ndjson.gz`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::from_path(Path::new(&format!("x.{name}")))
    }
}

impl From<Format> for FileFormat {
    fn from(format: Format) -> Self {
        Self { format, compression: Compression::None }
    }
}

/// The form of the rows, for formats that record it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceInfo {
    /// Base URL of the service.
    pub origin: String,
    /// Id of the form.
    pub form_id: String,
    /// Title of the form.
    pub title: String,
}

/// Writes rows in one format.
pub(crate) trait RowFormat {
    /// Writes the header.
    fn begin(&mut self, columns: &[Column]) -> io::Result<()>;

    /// Writes a row. `cells` has one value per column; it is empty in formats without columns.
    fn row(&mut self, row: &StoredRow<'_>, cells: Vec<Value<'_>>) -> io::Result<()>;

    /// Writes the end and returns remarks about the cells.
    fn finish(self: Box<Self>) -> io::Result<Vec<Remark>>;
}

/// Returns the writer of a format that needs a file, which is empty.
pub(crate) fn file_format(options: &RenderOptions, path: &Path) -> io::Result<Box<dyn RowFormat>> {
    Ok(match options.format.format {
        Format::Sqlite => Box::new(sqlite::SqliteFormat::new(path, &options.source)?),
        #[cfg(feature = "xlsx")]
        Format::Xlsx => Box::new(xlsx::XlsxFormat::new(path)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(parquet::ParquetFormat::new(path)),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    })
}

/// Reduces the columns to the limits of a format.
pub(crate) fn limit_table(format: Format, mut table: TableOptions) -> TableOptions {
    match format {
        Format::Xlsx => table.max_columns = table.max_columns.min(XLSX_ANSWERS_MAX),
        Format::Sqlite => {
            table.max_columns = table.max_columns.min(sqlite::ANSWERS_MAX);
            table.heading_bytes = table.heading_bytes.min(sqlite::HEADING_BYTES_MAX);
            table.ignore_case = true;
        }
        Format::Parquet => table.ignore_case = true,
        Format::Csv | Format::Tsv | Format::Ndjson | Format::Json => {}
    }
    table
}

/// Returns the writer of a text format.
pub(crate) fn text_format<'w>(
    options: &RenderOptions,
    out: &'w mut dyn Write,
) -> io::Result<Box<dyn RowFormat + 'w>> {
    Ok(match options.format.format {
        Format::Csv | Format::Tsv => Box::new(CsvFormat::new(out, options.csv)?),
        Format::Ndjson => Box::new(JsonFormat::new(out, false)),
        Format::Json => Box::new(JsonFormat::new(out, true)),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    })
}
