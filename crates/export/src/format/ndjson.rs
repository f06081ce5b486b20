//! One JSON object a line.

use std::io::{BufWriter, Write};

use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::{RecordWriter, Written};
use crate::record::Record;

const BUFFER: usize = 64 * 1024;

pub(super) struct NdjsonWriter<'a> {
    out: BufWriter<Destination<'a>>,
    submissions: u64,
}

impl<'a> NdjsonWriter<'a> {
    pub(super) fn new(destination: Destination<'a>) -> Self {
        Self { out: BufWriter::with_capacity(BUFFER, destination), submissions: 0 }
    }
}

impl RecordWriter for NdjsonWriter<'_> {
    fn write(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        for record in records {
            write_object(&mut self.out, record)
                .and_then(|()| self.out.write_all(b"\n"))
                .map_err(|error| self.out.get_ref().error(Operation::Write, error))?;
            self.submissions += 1;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Written, ExportError> {
        into_destination(self.out)?.publish()?;
        Ok(Written { submissions: self.submissions, ..Written::default() })
    }
}

/// One submission as a JSON object on one line. The answers are the exact bytes that were accepted,
/// except that line breaks between JSON tokens, which mean nothing, become spaces.
pub(super) fn write_object(out: &mut impl Write, record: &Record<'_>) -> std::io::Result<()> {
    out.write_all(b"{\"id\":")?;
    serde_json::to_writer(&mut *out, record.id)?;
    out.write_all(b",\"data\":")?;
    let mut data = record.data.as_bytes();
    // A raw line break can only stand between tokens: inside a JSON string it must be escaped.
    while let Some(at) = memchr::memchr2(b'\n', b'\r', data) {
        out.write_all(&data[..at])?;
        out.write_all(b" ")?;
        data = &data[at + 1..];
    }
    out.write_all(data)?;
    out.write_all(b",\"created_at\":")?;
    serde_json::to_writer(&mut *out, record.created_at)?;
    out.write_all(b"}")
}

/// The destination once everything buffered has reached it.
pub(super) fn into_destination(
    out: BufWriter<Destination<'_>>,
) -> Result<Destination<'_>, ExportError> {
    out.into_inner().map_err(|failed| {
        let (error, out) = failed.into_parts();
        out.get_ref().error(Operation::Write, error)
    })
}
