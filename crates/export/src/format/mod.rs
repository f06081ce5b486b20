//! Formats of rendered files: one module each.

mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod sqlite;
mod text;
#[cfg(feature = "xlsx")]
mod xlsx;

use std::io::{self, Write};
use std::path::Path;

use formsvc_table::{Column, CsvWriter, JsonWriter, StoredRow, TableOptions, Value};

use crate::file_format::Format;
use crate::remark::Remark;

pub use options::{RenderOptions, RowFilter};

/// Columns of answers of a workbook, so that those of the table itself and of unknown members fit beside
/// them: a sheet has 16,384 columns.
const XLSX_ANSWERS_MAX: usize = 16_250;

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
        Format::Csv | Format::Tsv => Box::new(CsvWriter::new(out, options.csv)?),
        Format::Ndjson => Box::new(JsonWriter::new(out, false)),
        Format::Json => Box::new(JsonWriter::new(out, true)),
        _ => return Err(io::ErrorKind::Unsupported.into()),
    })
}
