//! Records of a CSV file, strictly: what a lenient reader would mend in silence is an error that
//! names its line.

use std::io::BufRead;

use super::{Flaw, ImportError};

/// Longest record, in bytes. It bounds memory when a quote is never closed.
const RECORD_MAX: usize = 64 << 20;
const BOM: &[u8] = "\u{feff}".as_bytes();

/// One record; its fields without quotes.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// The line it begins on.
    pub(super) line: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Record {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bytes[start..end])
    }

    fn clear(&mut self, line: u64) {
        self.line = line;
        self.bytes.clear();
        self.ends.clear();
    }

    fn field_start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn end_field(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// The field that is being read.
    fn open_field(&self) -> &[u8] {
        &self.bytes[self.field_start()..]
    }
}

/// Where in a record the reader is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing of the record was read.
    Empty,
    FieldStart,
    Unquoted,
    /// Inside quotes opened on a line.
    Quoted {
        since: u64,
    },
    /// After a quote inside quotes: the closing one, or the first of a pair.
    Quote {
        since: u64,
    },
    /// After a closing quote and a CR.
    QuoteCr,
}

/// A reader of records.
pub(super) struct Records<R> {
    input: R,
    separator: u8,
    line: u64,
    started: bool,
}

impl<R: BufRead> Records<R> {
    /// A reader of records whose fields a byte separates.
    pub(super) fn new(input: R, separator: u8) -> Self {
        Self { input, separator, line: 1, started: false }
    }

    /// Reads the next record that is not an empty line; `false` at the end.
    pub(super) fn read(&mut self, record: &mut Record) -> Result<bool, ImportError> {
        if !self.started {
            self.skip_bom()?;
            self.started = true;
        }
        record.clear(self.line);
        let mut state = State::Empty;
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                return end_of_file(state, record);
            }
            let (mut used, mut complete) = (0, false);
            for &byte in buffer {
                used += 1;
                let line = self.line;
                self.line += u64::from(byte == b'\n');
                state = step(state, byte, self.separator, line, record)?;
                if byte == b'\n' && matches!(state, State::Empty) {
                    if !record.ends.is_empty() {
                        complete = true;
                        break;
                    }
                    record.clear(self.line);
                }
            }
            self.input.consume(used);
            if complete {
                return Ok(true);
            }
            if record.bytes.len() > RECORD_MAX {
                let rule = format!("begins a record of more than {} MiB", RECORD_MAX >> 20);
                return Err(Flaw::at_line(record.line, &record.bytes, rule).into());
            }
        }
    }

    fn skip_bom(&mut self) -> Result<(), ImportError> {
        // Buffered readers give at least three bytes where there are three.
        if self.input.fill_buf()?.starts_with(BOM) {
            self.input.consume(BOM.len());
        }
        Ok(())
    }
}

/// One byte. A record is complete when the state is empty again and it has fields.
fn step(
    state: State,
    byte: u8,
    separator: u8,
    line: u64,
    record: &mut Record,
) -> Result<State, ImportError> {
    Ok(match (state, byte) {
        (State::Empty, b'\n') => State::Empty,
        (State::Empty | State::FieldStart, b'"') => State::Quoted { since: line },
        (State::Quoted { since }, b'"') => State::Quote { since },
        (State::Quoted { .. }, _) => push(record, byte, state),
        (State::Quote { since }, b'"') => push(record, byte, State::Quoted { since }),
        (State::Quote { .. }, b'\r') => State::QuoteCr,
        (State::Empty | State::FieldStart | State::Unquoted | State::Quote { .. }, _)
            if byte == separator =>
        {
            record.end_field();
            State::FieldStart
        }
        (State::Quote { .. } | State::QuoteCr, b'\n') => {
            record.end_field();
            State::Empty
        }
        (State::FieldStart | State::Unquoted, b'\n') => {
            end_line(record);
            State::Empty
        }
        (State::Quote { .. } | State::QuoteCr, _) => {
            let rule = "has text after its closing quote";
            return Err(Flaw::at_line(line, record.open_field(), rule).into());
        }
        (State::Empty | State::FieldStart | State::Unquoted, _) => {
            push(record, byte, State::Unquoted)
        }
    })
}

fn push(record: &mut Record, byte: u8, then: State) -> State {
    record.bytes.push(byte);
    then
}

/// Ends an unquoted field at the end of its line, whose CR is not part of it.
fn end_line(record: &mut Record) {
    if record.open_field().ends_with(b"\r") {
        record.bytes.pop();
        if record.bytes.is_empty() && record.ends.is_empty() {
            // A line of a CR alone is an empty line.
            return;
        }
    }
    record.end_field();
}

fn end_of_file(state: State, record: &mut Record) -> Result<bool, ImportError> {
    match state {
        State::Empty => return Ok(false),
        State::Quoted { since } => {
            let rule = "opens a quote that is never closed";
            return Err(Flaw::at_line(since, record.open_field(), rule).into());
        }
        State::FieldStart | State::Quote { .. } | State::QuoteCr => record.end_field(),
        State::Unquoted => end_line(record),
    }
    Ok(!record.ends.is_empty())
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read_all(text: &[u8], capacity: usize) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut records = Records::new(BufReader::with_capacity(capacity, text), b',');
        let (mut record, mut all) = (Record::default(), Vec::new());
        while records.read(&mut record).map_err(|error| error.to_string())? {
            let fields = record.fields().map(|f| String::from_utf8_lossy(f).into_owned()).collect();
            all.push((record.line, fields));
        }
        Ok(all)
    }

    fn fields(text: &str) -> Vec<Vec<String>> {
        let all = read_all(text.as_bytes(), 64).unwrap();
        assert_eq!(read_all(text.as_bytes(), 3).unwrap(), all, "buffer borders must not matter");
        all.into_iter().map(|(_, fields)| fields).collect()
    }

    #[test]
    fn quotes_lines_and_commas_are_as_in_rfc_4180() {
        assert_eq!(fields("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
        assert_eq!(fields("a,b\r\n\"1\",\"2\"\r\n"), [["a", "b"], ["1", "2"]]);
        assert_eq!(fields("\"a,\"\"b\"\"\nc\",d"), [["a,\"b\"\nc", "d"]]);
        assert_eq!(fields("\"\r\n\",x\r\n"), [["\r\n", "x"]]);
        assert_eq!(fields(",\n"), [["", ""]]);
        assert_eq!(fields("a,"), [["a", ""]]);
        assert_eq!(fields("\"\"\n"), [[""]]);
        assert_eq!(fields("\u{feff}a\n"), [["a"]]);
    }

    #[test]
    fn what_is_no_rule_is_text() {
        assert_eq!(fields("5\" pipe, spaced \n"), [["5\" pipe", " spaced "]]);
        assert_eq!(fields("a\rb,c\r\r\n"), [["a\rb", "c\r"]]);
        assert_eq!(fields("a\0b\n"), [["a\0b"]]);
    }

    #[test]
    fn another_separator_leaves_commas_to_the_text() {
        let text = b"a,b\tc\n\"x\ty\"\t\n".as_slice();
        let (mut records, mut record) = (Records::new(text, b'\t'), Record::default());
        let mut all = Vec::new();
        while records.read(&mut record).unwrap() {
            all.push(record.fields().map(<[u8]>::to_vec).collect::<Vec<_>>());
        }
        assert_eq!(all, [[b"a,b".as_slice(), b"c"], [b"x\ty", b""]]);
    }

    #[test]
    fn empty_lines_are_skipped_and_still_counted() {
        let all = read_all(b"\n\r\na\n\n\"x\ny\"\nb\n", 64).unwrap();
        let lines: Vec<_> = all.iter().map(|(line, fields)| (*line, fields[0].as_str())).collect();
        assert_eq!(lines, [(3, "a"), (5, "x\ny"), (7, "b")]);
        assert!(fields("\n\n").is_empty());
        assert!(fields("").is_empty());
    }

    #[test]
    fn broken_quotes_are_errors_that_name_their_line() {
        let error = read_all(b"a,b\n1,\"2\n3,4\n", 64).unwrap_err();
        assert_eq!(error, "line 2: `2\\n3,4\\n` opens a quote that is never closed");
        let error = read_all(b"a\n\"b\"c\n", 64).unwrap_err();
        assert_eq!(error, "line 2: `b` has text after its closing quote");
        assert!(read_all(b"\"a\"\rb\n", 64).is_err());
    }
}
