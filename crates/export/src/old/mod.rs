//! Page-by-page writers without a row store. Used by [`export`](crate::export()) until it renders from a
//! store.

mod blocks;
mod csv;
mod json;
mod ndjson;
mod widen;

use formsvc_client::{Completeness, Submission, TieOverflow};

use crate::destination::Destination;
use crate::error::ExportError;
use crate::format::Format;

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
        format => {
            return Err(ExportError::Unsupported(format!("cannot write {} here", format.name())));
        }
    })
}
