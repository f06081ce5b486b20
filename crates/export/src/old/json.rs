//! One JSON array. Its bracket closes only on success, so a cut-off stream never parses.

use formsvc_client::Submission;

use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::old::blocks::Blocks;
use crate::old::ndjson::{into_destination, let_through, to_line};
use crate::old::{RecordWriter, Written};

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
    fn write(&mut self, submissions: &[Submission]) -> Result<(), ExportError> {
        for submission in submissions {
            self.put(if self.submissions == 0 { b"[\n" } else { b",\n" })?;
            self.put(&to_line(submission))?;
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
