//! One JSON array. Its bracket closes only on success, so a cut-off stream never parses.

use crate::blocks::Blocks;
use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::ndjson::{into_destination, let_through, object_length, put_object};
use crate::format::{RecordWriter, Written};
use crate::record::Record;

pub(super) struct JsonWriter<'a> {
    out: Blocks<Destination<'a>>,
    submissions: u64,
}

impl<'a> JsonWriter<'a> {
    pub(super) fn new(destination: Destination<'a>) -> Self {
        Self { out: Blocks::new(destination), submissions: 0 }
    }

    fn put(&mut self, text: &[u8]) -> Result<(), ExportError> {
        self.out
            .append(text.len(), |out| out.extend_from_slice(text))
            .map_err(|error| self.out.get_ref().error(Operation::Write, error))
    }
}

impl RecordWriter for JsonWriter<'_> {
    fn write(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        for record in records {
            self.put(if self.submissions == 0 { b"[\n" } else { b",\n" })?;
            self.out
                .append(object_length(record), |out| put_object(out, record))
                .map_err(|error| self.out.get_ref().error(Operation::Write, error))?;
            self.submissions += 1;
        }
        let_through(&mut self.out)
    }

    fn finish(mut self: Box<Self>) -> Result<Written, ExportError> {
        self.put(if self.submissions == 0 { b"[]\n" } else { b"\n]\n" })?;
        into_destination(self.out)?.publish()?;
        Ok(Written { submissions: self.submissions, ..Written::default() })
    }
}
