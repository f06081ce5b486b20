//! One JSON object a line.

use crate::blocks::Blocks;
use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::{RecordWriter, Written};
use crate::record::Record;

pub(super) struct NdjsonWriter<'a> {
    out: Blocks<Destination<'a>>,
    submissions: u64,
}

impl<'a> NdjsonWriter<'a> {
    pub(super) fn new(destination: Destination<'a>) -> Self {
        Self { out: Blocks::new(destination), submissions: 0 }
    }
}

impl RecordWriter for NdjsonWriter<'_> {
    fn write(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        for record in records {
            self.out
                .append(object_length(record), |out| {
                    put_object(out, record);
                    out.push(b'\n');
                })
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

/// About the bytes [`put_object`] appends.
pub(super) fn object_length(record: &Record<'_>) -> usize {
    record.data.len() + record.id.len() + 128
}

/// Appends one submission as a JSON object on one line. The answers are the exact bytes that were
/// accepted, except that line breaks between JSON tokens, which mean nothing, become spaces.
pub(super) fn put_object(out: &mut Vec<u8>, record: &Record<'_>) {
    out.extend_from_slice(b"{\"id\":");
    put_string(out, record.id);
    out.extend_from_slice(b",\"data\":");
    let mut data = record.data.as_bytes();
    // A raw line break can only stand between tokens: inside a JSON string it must be escaped.
    while let Some(at) = memchr::memchr2(b'\n', b'\r', data) {
        out.extend_from_slice(&data[..at]);
        out.push(b' ');
        data = &data[at + 1..];
    }
    out.extend_from_slice(data);
    out.extend_from_slice(b",\"created_at\":");
    put_string(out, record.created_at);
    out.push(b'}');
}

fn put_string(out: &mut Vec<u8>, text: &str) {
    // No id of the service and no time needs an escape. Every byte is looked at, whatever it is, so
    // that the compiler compares many at once.
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':' | b'.');
    if text.bytes().fold(true, |all, byte| all & plain(byte)) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        serde_json::to_writer(out, text).expect("a vector takes whatever is written to it");
    }
}

/// The destination once everything buffered has reached it.
pub(super) fn into_destination(
    out: Blocks<Destination<'_>>,
) -> Result<Destination<'_>, ExportError> {
    out.into_inner().map_err(|(error, out)| out.error(Operation::Write, error))
}
