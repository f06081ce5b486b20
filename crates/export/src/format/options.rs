//! How rows become a file.

use formsvc_table::{CsvOptions, StoredRow, TableOptions};

use super::{FileFormat, Format, SourceInfo};
use crate::compress::Compression;
use crate::error::ExportError;

/// Decides whether a row is in the output; an error ends the rendering.
pub type RowFilter = Box<dyn Fn(&StoredRow<'_>) -> Result<bool, String> + Send>;

/// How rows become a file.
pub struct RenderOptions {
    /// The format.
    pub format: FileFormat,
    /// The columns.
    pub table: TableOptions,
    /// The dialect of CSV and TSV. [`new`](Self::new) sets the delimiter of the format: comma or tab.
    pub csv: CsvOptions,
    /// The form of the rows, for formats that record it.
    pub source: SourceInfo,
    /// The rows of the output; all if `None`.
    pub filter: Option<RowFilter>,
    /// The number of rows at most.
    pub limit: Option<u64>,
    /// Computes [`Rendered::sha256`](crate::Rendered::sha256).
    pub checksum: bool,
}

impl RenderOptions {
    /// Returns the default options of a format: all rows, all columns, formula guard on.
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

    /// Returns an error for options that do not go together. Costs nothing, so that it can be called
    /// before the first request.
    pub fn check(&self) -> Result<(), ExportError> {
        let unsupported = |reason: String| Err(ExportError::Unsupported(reason));
        let format = self.format.format;
        if !format.is_available() {
            return unsupported(format!(
                "this build cannot write {0}; use a released binary, or build with `--features {0}`",
                format.name()
            ));
        }
        if !format.is_text() && self.format.compression != Compression::None {
            return unsupported(format!("{} cannot be compressed once more", format.name()));
        }
        if !format.is_table() && !self.table.columns.is_empty() {
            return unsupported(format!("{} has no columns to select", format.name()));
        }
        if !format.is_table() && !self.table.column_map.is_empty() {
            return unsupported(format!("{} keeps labels as they are", format.name()));
        }
        let is_separator = |byte: u8| byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0);
        if !is_separator(self.csv.delimiter) {
            let shown = char::from(self.csv.delimiter).escape_default();
            return unsupported(format!("`{shown}` cannot separate cells; use `,`, `;` or a tab"));
        }
        Ok(())
    }
}
