//! Rows as JSON: one object per line, or one array. The answers are byte for byte those of the service.

use std::io::{self, Write};

use serde_json::value::RawValue;

use crate::StoredRow;

/// Writes rows as JSON objects, one per line or in one array. The bracket of the array is closed at the end
/// only, so that a truncated file is no valid JSON.
///
/// ```
/// use formsvc_table::{JsonWriter, StoredRow};
/// let mut json = JsonWriter::new(Vec::new(), false);
/// let data = r#"{"n":1.50}"#;
/// json.write_row(&StoredRow { id: "s", created_at: "t", instant: 0, data, extra: "" })?;
/// let line = b"{\"id\":\"s\",\"data\":{\"n\":1.50},\"created_at\":\"t\"}\n";
/// assert_eq!(json.into_inner()?, line);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct JsonWriter<W: Write> {
    out: W,
    is_array: bool,
    rows: u64,
    damaged_rows: u64,
    /// The current row.
    line: Vec<u8>,
}

impl<W: Write> JsonWriter<W> {
    /// Creates a writer of lines or of an array.
    pub fn new(out: W, is_array: bool) -> Self {
        Self { out, is_array, rows: 0, damaged_rows: 0, line: Vec::new() }
    }

    /// Writes one row.
    pub fn write_row(&mut self, row: &StoredRow<'_>) -> io::Result<()> {
        self.line.clear();
        if self.is_array {
            self.line.extend_from_slice(if self.rows == 0 { b"[\n" } else { b",\n" });
        }
        let is_damaged = push_object(&mut self.line, row);
        if !self.is_array {
            self.line.push(b'\n');
        }
        self.out.write_all(&self.line)?;
        self.rows += 1;
        self.damaged_rows += u64::from(is_damaged);
        Ok(())
    }

    /// Returns the number of rows with stored text that is no JSON object; it was written as a string.
    pub fn damaged_rows(&self) -> u64 {
        self.damaged_rows
    }

    /// Flushes the rows.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Writes the end, flushes the rows and returns the output.
    pub fn into_inner(mut self) -> io::Result<W> {
        if self.is_array {
            self.out.write_all(if self.rows == 0 { b"[]\n" } else { b"\n]\n" })?;
        }
        self.out.flush()?;
        Ok(self.out)
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
