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
        let_through(&mut self.out)
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
    match record.text {
        Some(text) if is_as_written(text.as_bytes(), record) => {
            out.extend_from_slice(text.as_bytes());
        }
        _ => put_parts(out, record),
    }
}

/// Whether the service spelled a submission as it is written here, which nearly all do.
fn is_as_written(text: &[u8], record: &Record<'_>) -> bool {
    let data = b"{\"id\":\"".len() + record.id.len();
    let time = data + b"\",\"data\":".len() + record.data.len();
    let end = time + b",\"created_at\":\"".len() + record.created_at.len();
    let has = |at: usize, part: &[u8]| text.get(at..).is_some_and(|rest| rest.starts_with(part));
    // The members are those of the record: each was found once, and is as long as what stands here.
    has(0, b"{\"id\":\"")
        && has(data, b"\",\"data\":")
        && has(time, b",\"created_at\":\"")
        && text.get(end..) == Some(b"\"}")
        && memchr::memchr2(b'\n', b'\r', text).is_none()
}

fn put_parts(out: &mut Vec<u8>, record: &Record<'_>) {
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
    serde_json::to_writer(out, text).expect("a vector takes whatever is written to it");
}

/// Lets whoever reads a stream have what is there of it; a file is read when it is whole.
pub(super) fn let_through(out: &mut Blocks<Destination<'_>>) -> Result<(), ExportError> {
    if out.get_ref().is_file() {
        return Ok(());
    }
    out.let_through().map_err(|error| out.get_ref().error(Operation::Write, error))
}

/// The destination once everything buffered has reached it.
pub(super) fn into_destination(
    out: Blocks<Destination<'_>>,
) -> Result<Destination<'_>, ExportError> {
    out.into_inner().map_err(|(error, out)| out.error(Operation::Write, error))
}

#[cfg(test)]
mod tests {
    use formsvc_client::Literals;

    use super::*;

    const ID: &str = "sub_1";
    const TIME: &str = "2026-01-02T03:04:05.678Z";

    /// The line of a submission, whose page has it as `text`.
    fn line(text: Option<&str>, data: &str) -> String {
        let (answers, mut out) = (Literals::new(data, &[]), Vec::new());
        put_object(&mut out, &Record { text, id: ID, data, answers, created_at: TIME });
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn however_the_service_spells_a_submission_its_line_is_the_same() {
        let [id, time] = [("id", ID), ("created_at", TIME)]
            .map(|(name, value)| format!("\"{name}\":\"{value}\""));
        for data in [r#"{"a":[1,{"b":"}\n"}],"id":"x"}"#, "{}", "{\n\"a\":1}", "{\"a\":\r1}"] {
            let expected = line(None, data);
            let one_line = data.replace(['\n', '\r'], " ");
            assert_eq!(expected, format!("{{{id},\"data\":{one_line},{time}}}"));
            let data_is = format!("\"data\":{data}");
            for text in [
                format!("{{{id},{data_is},{time}}}"),
                format!("{{{data_is},{id},{time}}}"),
                format!("{{{id},{time},{data_is}}}"),
                format!("{{{id},\"new\":0,{data_is},{time}}}"),
                format!("{{{id},{data_is},{time},\"new\":0}}"),
                format!("{{ {id},{data_is},{time}}}"),
                format!("{{{id},{data_is},{time} }}"),
                format!("{{{id},{data_is} ,{time}}}"),
                String::new(),
            ] {
                assert_eq!(line(Some(&text), data), expected, "{text}");
            }
        }
    }
}
