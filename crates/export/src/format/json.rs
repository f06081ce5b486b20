//! One JSON array. Its bracket closes only on success, so a cut-off stream never parses.

use std::io::{BufWriter, Write};

use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::ndjson::{into_destination, write_object};
use crate::format::{RecordWriter, Written};
use crate::record::Record;

pub(super) struct JsonWriter<'a> {
    out: BufWriter<Destination<'a>>,
    submissions: u64,
}

impl<'a> JsonWriter<'a> {
    pub(super) fn new(destination: Destination<'a>) -> Self {
        Self { out: BufWriter::new(destination), submissions: 0 }
    }

    fn put(&mut self, record: &Record<'_>) -> std::io::Result<()> {
        self.out.write_all(if self.submissions == 0 { b"[\n" } else { b",\n" })?;
        write_object(&mut self.out, record)
    }
}

impl RecordWriter for JsonWriter<'_> {
    fn write(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        for record in records {
            self.put(record).map_err(|error| self.out.get_ref().error(Operation::Write, error))?;
            self.submissions += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, ExportError> {
        let end: &[u8] = if self.submissions == 0 { b"[]\n" } else { b"\n]\n" };
        self.out
            .write_all(end)
            .map_err(|error| self.out.get_ref().error(Operation::Write, error))?;
        into_destination(self.out)?.publish()?;
        Ok(Written { submissions: self.submissions, ..Written::default() })
    }
}
