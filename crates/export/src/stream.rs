//! JSON as it arrives, without a row store.

use std::io::{self, BufWriter, Write};

use formsvc_table::StoredRow;

use crate::compress::Encoder;
use crate::destination::{Destination, ErrorSource};
use crate::error::{ExportError, Operation};
use crate::format::{FileFormat, Format, JsonFormat};

/// Bytes that are written at once.
const BLOCK: usize = 256 * 1024;

/// Writes NDJSON or JSON row by row. Such an output begins before the last row is known, and cannot be
/// continued after an interruption.
pub struct RowStream<'a> {
    format: JsonFormat<Encoder<BufWriter<Destination<'a>>>>,
    errors: ErrorSource,
}

impl<'a> RowStream<'a> {
    /// Begins an output.
    pub fn new(format: FileFormat, destination: Destination<'a>) -> Result<Self, ExportError> {
        let errors = destination.error_source();
        let out = BufWriter::with_capacity(BLOCK, destination);
        let out = Encoder::new(out, format.compression)
            .map_err(|error| errors.error(Operation::Write, error))?;
        let format = match format.format {
            Format::Ndjson => JsonFormat::lines(out),
            Format::Json => JsonFormat::array(out),
            other => {
                let reason = format!("{} needs all rows before its first one", other.name());
                return Err(ExportError::Unsupported(reason));
            }
        };
        Ok(Self { format, errors })
    }

    /// Writes a row.
    pub fn write(&mut self, row: &StoredRow<'_>) -> Result<(), ExportError> {
        self.format.write(row).map_err(|error| self.errors.error(Operation::Write, error))
    }

    /// Makes the rows so far visible to the reader of a pipe.
    pub fn flush(&mut self) -> Result<(), ExportError> {
        let flushed = self.format.get_mut().flush();
        flushed.map_err(|error| self.errors.error(Operation::Write, error))
    }

    /// Completes the output. Without this call a file does not appear, and a JSON array stays open.
    pub fn finish(self) -> Result<(), ExportError> {
        let errors = self.errors;
        let complete = || -> io::Result<Destination<'a>> {
            let (out, _) = self.format.end()?;
            out.finish()?.into_inner().map_err(io::IntoInnerError::into_error)
        };
        let destination = complete().map_err(|error| errors.error(Operation::Write, error))?;
        destination.publish()
    }
}
