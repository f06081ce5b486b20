//! One JSON object per line.

use std::io::Write;

use formsvc_client::Submission;

use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::old::blocks::Blocks;
use crate::old::{RecordWriter, Written};

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
    fn write(&mut self, submissions: &[Submission]) -> Result<(), ExportError> {
        for submission in submissions {
            let mut line = to_line(submission);
            line.push(b'\n');
            let written = self.out.write_all(&line);
            written.map_err(|error| self.out.get_ref().error(Operation::Write, error))?;
            self.submissions += 1;
        }
        let_through(&mut self.out)
    }

    fn finish(self: Box<Self>) -> Result<Written, ExportError> {
        into_destination(self.out)?.publish()?;
        Ok(Written { submissions: self.submissions, ..Written::default() })
    }
}

/// Returns a submission as a JSON object on one line. The answers are exact, except that line breaks
/// between JSON tokens, which have no meaning, become spaces.
pub(super) fn to_line(submission: &Submission) -> Vec<u8> {
    let mut line = serde_json::to_vec(submission).expect("a submission can be written as JSON");
    // A raw line break can only be between tokens: inside a JSON string it is escaped.
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    line
}

/// Flushes a stream, so that its reader gets each page. A file is published as a whole.
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
    use super::*;

    #[test]
    fn line_has_exact_answers_and_unknown_members() {
        let text = "{\"created_at\":\"2026-01-02T03:04:05.678Z\",\"score\":1.50,\"id\":\"sub_1\",\
                    \"data\":{\r\n\"a\" : [1.0,\"}\\n\"]}}";
        let submission: Submission = serde_json::from_str(text).unwrap();
        let line = String::from_utf8(to_line(&submission)).unwrap();
        let expected = "{\"id\":\"sub_1\",\"data\":{  \"a\" : [1.0,\"}\\n\"]},\
                        \"created_at\":\"2026-01-02T03:04:05.678Z\",\"score\":1.50}";
        assert_eq!(line, expected);
    }
}
