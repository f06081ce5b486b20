//! The formats: one file each, one row each in [`FORMATS`].

mod csv;
mod json;
mod ndjson;
mod widen;

use std::path::Path;

use formsvc_client::{Completeness, Submission, TieOverflow};

use crate::destination::Destination;
use crate::error::ExportError;

/// A format of exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-separated values.
    Csv,
    /// One JSON object a line.
    Ndjson,
    /// One JSON array.
    Json,
}

/// What the table of formats says about one.
#[derive(Clone, Copy, Debug)]
pub struct FormatRow {
    /// The format.
    pub format: Format,
    /// How it is named on a command line.
    pub name: &'static str,
    /// File name endings that mean it.
    pub extensions: &'static [&'static str],
    /// What it is, in a line.
    pub about: &'static str,
}

/// Every format.
pub const FORMATS: &[FormatRow] = &[
    FormatRow {
        format: Format::Csv,
        name: "csv",
        extensions: &["csv"],
        about: "comma-separated values (RFC 4180), one column a question",
    },
    FormatRow {
        format: Format::Ndjson,
        name: "ndjson",
        extensions: &["ndjson", "jsonl"],
        about: "one JSON object a line, answers byte for byte",
    },
    FormatRow {
        format: Format::Json,
        name: "json",
        extensions: &["json"],
        about: "one JSON array, answers byte for byte",
    },
];

impl Format {
    /// The format a file name's ending means.
    pub fn from_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        FORMATS.iter().find(|row| row.extensions.contains(&&*extension)).map(|row| row.format)
    }
}

/// How to write.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The format.
    pub format: Format,
    /// Whether text that a spreadsheet would run is made inert (see
    /// [`needs_guard`](formsvc_table::needs_guard)). Only CSV can run; the JSON formats ignore it.
    pub formula_guard: bool,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Written {
    /// Submissions.
    pub submissions: u64,
    /// Columns, the table's own included; 0 in formats without columns.
    pub columns: usize,
    /// Cells the formula guard changed, headings included.
    pub guarded_cells: u64,
    /// Whether these are all submissions that the service has.
    pub completeness: Completeness,
    /// The units of the service's cursor of which submissions may be missing.
    pub tie_overflows: Vec<TieOverflow>,
}

/// Writes submissions in one format.
pub trait RecordWriter: Send {
    /// Writes submissions in this order.
    fn write(&mut self, submissions: &[Submission]) -> Result<(), ExportError>;

    /// Completes the output. Without this call a file does not come to be, and a JSON array stays
    /// open.
    fn finish(self: Box<Self>) -> Result<Written, ExportError>;
}

/// The writer of a format.
pub fn writer<'a>(
    destination: Destination<'a>,
    options: Options,
) -> Result<Box<dyn RecordWriter + 'a>, ExportError> {
    Ok(match options.format {
        Format::Csv => Box::new(csv::CsvWriter::new(destination, options.formula_guard)?),
        Format::Ndjson => Box::new(ndjson::NdjsonWriter::new(destination)),
        Format::Json => Box::new(json::JsonWriter::new(destination)),
    })
}
