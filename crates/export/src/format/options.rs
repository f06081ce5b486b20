//! How rows become a file.

use formsvc_table::{CsvOptions, StoredRow, TableOptions};

use super::SourceInfo;
use crate::error::{ExportError, Unsupported};
use crate::file_format::{Compression, FileFormat, Format};

/// Decides whether a row is in the output; an error ends the rendering.
pub type RowFilter = Box<dyn Fn(&StoredRow<'_>) -> Result<bool, String> + Send>;

/// How rows become a file.
#[must_use]
pub struct RenderOptions {
    pub(crate) format: FileFormat,
    pub(crate) table: TableOptions,
    pub(crate) csv: CsvOptions,
    pub(crate) source: SourceInfo,
    pub(crate) filter: Option<RowFilter>,
    pub(crate) limit: Option<u64>,
    pub(crate) checksum: bool,
}

impl RenderOptions {
    /// Returns the default options of a format: all rows, all columns, formula guard on. The delimiter of
    /// TSV is a tab.
    pub fn new(format: impl Into<FileFormat>) -> Self {
        let format = format.into();
        let delimiter = if format.format == Format::Tsv { b'\t' } else { b',' };
        Self {
            format,
            table: TableOptions::default(),
            csv: CsvOptions { delimiter, ..CsvOptions::default() },
            source: SourceInfo::default(),
            filter: None,
            limit: None,
            checksum: false,
        }
    }

    /// Sets the columns.
    pub fn table(self, options: TableOptions) -> Self {
        Self { table: options, ..self }
    }

    /// Sets the delimiter of CSV and TSV.
    pub fn delimiter(self, delimiter: u8) -> Self {
        Self { csv: CsvOptions { delimiter, ..self.csv }, ..self }
    }

    /// Writes CSV and TSV for Excel: lines end in CR LF, with a byte order mark.
    pub fn excel(self, excel: bool) -> Self {
        Self { csv: CsvOptions { excel, ..self.csv }, ..self }
    }

    /// Puts an apostrophe before text in CSV and TSV that a spreadsheet would run as a formula.
    pub fn formula_guard(self, guard: bool) -> Self {
        Self { csv: CsvOptions { guard, ..self.csv }, ..self }
    }

    /// Sets the form of the rows, for formats that record it.
    pub fn source(self, source: SourceInfo) -> Self {
        Self { source, ..self }
    }

    /// Selects the rows of the output.
    pub fn filter(self, filter: impl Into<Option<RowFilter>>) -> Self {
        Self { filter: filter.into(), ..self }
    }

    /// Sets the number of rows at most.
    pub fn limit(self, rows: impl Into<Option<u64>>) -> Self {
        Self { limit: rows.into(), ..self }
    }

    /// Computes [`Rendered::sha256`](crate::Rendered::sha256).
    pub fn checksum(self, checksum: bool) -> Self {
        Self { checksum, ..self }
    }

    /// Returns an error for options that do not go together. Costs nothing, so that it can be called
    /// before the first request.
    pub fn check(&self) -> Result<(), ExportError> {
        let format = self.format.format;
        let (table, delimiter) = (&self.table, self.csv.delimiter);
        let is_separator = delimiter.is_ascii() && !matches!(delimiter, b'"' | b'\r' | b'\n' | 0);
        let problem = if !format.is_available() {
            Unsupported::Format(format)
        } else if !self.format.compression.is_available() {
            Unsupported::Compression(self.format.compression)
        } else if !format.is_text() && self.format.compression != Compression::None {
            Unsupported::Compressed(format)
        } else if !format.is_table() && !table.columns.is_empty() {
            Unsupported::Columns(format)
        } else if !format.is_table() && !table.column_map.is_empty() {
            Unsupported::NewLabels(format)
        } else if !is_separator {
            Unsupported::Delimiter(delimiter)
        } else {
            return Ok(());
        };
        Err(problem.into())
    }
}

impl From<Format> for RenderOptions {
    fn from(format: Format) -> Self {
        Self::new(format)
    }
}

impl From<FileFormat> for RenderOptions {
    fn from(format: FileFormat) -> Self {
        Self::new(format)
    }
}
