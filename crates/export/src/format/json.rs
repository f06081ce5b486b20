//! JSON: one object per line, or one array. The answers are byte for byte those of the service.

use std::io::{self, Write};

use formsvc_table::{Column, StoredRow, Value};
use serde_json::value::RawValue;

use crate::format::RowFormat;
use crate::remark::Remark;

/// Writes objects as lines or as one array. The bracket of the array is closed at the end only, so that a
/// truncated file is no valid JSON.
pub(crate) struct JsonFormat<W: Write> {
    out: W,
    is_array: bool,
    rows: u64,
    damaged_rows: u64,
    line: Vec<u8>,
}

impl<W: Write> JsonFormat<W> {
    pub(crate) fn new(out: W, is_array: bool) -> Self {
        Self { out, is_array, rows: 0, damaged_rows: 0, line: Vec::new() }
    }

    pub(crate) fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    pub(crate) fn write(&mut self, row: &StoredRow<'_>) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        if self.is_array {
            line.extend_from_slice(if self.rows == 0 { b"[\n" } else { b",\n" });
        }
        let is_damaged = push_object(&mut line, row);
        if !self.is_array {
            line.push(b'\n');
        }
        self.out.write_all(&line)?;
        self.line = line;
        self.rows += 1;
        self.damaged_rows += u64::from(is_damaged);
        Ok(())
    }

    /// Writes the end and returns the output with the number of damaged rows.
    pub(crate) fn end(mut self) -> io::Result<(W, u64)> {
        if self.is_array {
            self.out.write_all(if self.rows == 0 { b"[]\n" } else { b"\n]\n" })?;
        }
        Ok((self.out, self.damaged_rows))
    }
}

impl<W: Write> RowFormat for JsonFormat<W> {
    fn begin(&mut self, _columns: &[Column]) -> io::Result<()> {
        Ok(())
    }

    fn row(&mut self, row: &StoredRow<'_>, _cells: Vec<Value<'_>>) -> io::Result<()> {
        self.write(row)
    }

    fn finish(self: Box<Self>) -> io::Result<Vec<Remark>> {
        let (_, damaged) = self.end()?;
        Ok(Remark::counted(Remark::DamagedRows, damaged).into_iter().collect())
    }
}

/// Appends a submission as a JSON object on one line. Returns true if the stored text is no JSON object
/// and was written as a string.
fn push_object(line: &mut Vec<u8>, row: &StoredRow<'_>) -> bool {
    line.extend_from_slice(b"{\"id\":");
    push_string(line, row.id);
    line.extend_from_slice(b",\"data\":");
    let mut is_damaged = !is_object(row.data);
    if is_damaged {
        push_string(line, row.data);
    } else {
        push_line(line, row.data);
    }
    line.extend_from_slice(b",\"created_at\":");
    push_string(line, row.created_at);
    if !row.extra.is_empty() {
        let members = row.extra.trim_ascii();
        let inner = members.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        match inner.filter(|_| is_object(members)).map(str::trim_ascii) {
            Some("") => {}
            Some(members) => {
                line.push(b',');
                push_line(line, members);
            }
            None => is_damaged = true,
        }
    }
    line.push(b'}');
    is_damaged
}

fn is_object(json: &str) -> bool {
    json.trim_ascii_start().starts_with('{') && serde_json::from_str::<&RawValue>(json).is_ok()
}

fn push_string(line: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(line, text).expect("a vector accepts all bytes");
}

/// Appends JSON with spaces for line breaks, which can only be between tokens: inside a string they are
/// escaped.
fn push_line(line: &mut Vec<u8>, json: &str) {
    let start = line.len();
    line.extend_from_slice(json.as_bytes());
    for byte in &mut line[start..] {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}
