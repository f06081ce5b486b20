//! Records of a CSV file, strictly: what a lenient reader would mend in silence is an error that
//! names its line.

use std::io::BufRead;

use formsvc_protocol::limits::ANSWERS_MAX;

use super::{Flaw, ImportError};

/// Longest record, in bytes: no answers are longer. It bounds memory when a quote is never closed.
const RECORD_MAX: usize = ANSWERS_MAX;
/// Longest header, in bytes and commas. Each of its labels is kept in every submission.
const HEADER_MAX: usize = 1 << 20;
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
    /// Values of the header; none before it was read.
    columns: Option<usize>,
    /// The first of the blank lines that nothing but blank lines followed yet.
    blank: Option<u64>,
}

impl<R: BufRead> Records<R> {
    /// A reader of records whose fields a byte separates.
    pub(super) fn new(input: R, separator: u8) -> Self {
        Self { input, separator, line: 1, started: false, columns: None, blank: None }
    }

    /// Reads the next record; `false` at the end. The first one is the header.
    ///
    /// A blank line before the header, or at the end of a file of several columns, is skipped. Below
    /// a header of one column it is a record whose value is empty; between the records of several
    /// columns it is a flaw.
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
                return self.end_of_file(state, record);
            }
            let (mut used, mut complete) = (0, false);
            for &byte in buffer {
                used += 1;
                let line = self.line;
                self.line += u64::from(byte == b'\n');
                state = step(state, byte, self.separator, line, record)?;
                if record.ends.len() > self.columns.unwrap_or(usize::MAX) {
                    return Err(self.too_many(record).into());
                }
                if byte == b'\n' && matches!(state, State::Empty) {
                    if record.ends.is_empty() && self.columns == Some(1) {
                        record.end_field();
                    }
                    if !record.ends.is_empty() {
                        complete = true;
                        break;
                    }
                    self.blank.get_or_insert(record.line);
                    record.clear(self.line);
                }
            }
            self.input.consume(used);
            if complete {
                self.after_blank()?;
                self.count_columns(record)?;
                return Ok(true);
            }
            self.check_size(record)?;
        }
    }

    /// Learns from the header how many values a record has. In a file whose lines end with CR alone all of
    /// it would be the header, and nothing would be left to import.
    fn count_columns(&mut self, record: &Record) -> Result<(), Flaw> {
        if self.columns.is_none() {
            let lone = |field: &&[u8]| {
                let mut bytes = field.iter().enumerate();
                bytes.any(|(at, byte)| *byte == b'\r' && field.get(at + 1) != Some(&b'\n'))
            };
            if let Some(name) = record.fields().find(lone) {
                let rule = "is a name with a carriage return in it; lines end with LF or CR LF";
                return Err(Flaw::at_line(record.line, name, rule));
            }
            self.columns = Some(record.len());
        }
        Ok(())
    }

    /// Refuses a record that blank lines stand before.
    fn after_blank(&mut self) -> Result<(), Flaw> {
        match (self.blank.take(), self.columns) {
            (Some(line), Some(columns)) => {
                let rule = format!("is a blank line, and a record has {columns} values");
                Err(Flaw::at_line(line, b"", rule))
            }
            _ => Ok(()),
        }
    }

    fn end_of_file(&mut self, state: State, record: &mut Record) -> Result<bool, ImportError> {
        match state {
            State::Empty => return Ok(false),
            State::Quoted { since } => {
                let rule = "opens a quote that is never closed";
                return Err(Flaw::at_line(since, record.open_field(), rule).into());
            }
            State::FieldStart | State::Quote { .. } | State::QuoteCr => record.end_field(),
            State::Unquoted => end_line(record),
        }
        if record.ends.len() > self.columns.unwrap_or(usize::MAX) {
            return Err(self.too_many(record).into());
        }
        let any = !record.ends.is_empty();
        if any {
            self.after_blank()?;
            self.count_columns(record)?;
        }
        Ok(any)
    }

    fn check_size(&self, record: &Record) -> Result<(), Flaw> {
        let (what, max) = match self.columns {
            None => ("header", HEADER_MAX),
            Some(_) => ("record", RECORD_MAX),
        };
        if record.bytes.len() + record.ends.len() <= max {
            return Ok(());
        }
        let rule = format!("begins a {what} of more than {} MiB", max >> 20);
        Err(Flaw::at_line(record.line, &record.bytes, rule))
    }

    fn too_many(&self, record: &Record) -> Flaw {
        let first = record.fields().next().unwrap_or_default();
        let wanted = self.columns.unwrap_or_default();
        let rule = format!("begins a record of more values than the header has ({wanted})");
        Flaw::at_line(record.line, first, rule)
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
        assert_eq!(fields("x,y\na\rb,c\r\r\n"), [["x", "y"], ["a\rb", "c\r"]]);
        assert_eq!(fields("a\0b\n"), [["a\0b"]]);
    }

    #[test]
    fn lines_that_end_with_a_carriage_return_alone_are_an_error() {
        for text in ["a,b\r1,2\r3,4\r", "a\r1\r2", "a\rb\n1\n", "\"a\rb\",c\n"] {
            let error = read_all(text.as_bytes(), 64).unwrap_err();
            assert!(error.contains("lines end with LF or CR LF"), "{error}");
        }
        assert_eq!(fields("\"a\r\nb\",c\r\n1,2\r\n"), [["a\r\nb", "c"], ["1", "2"]]);
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
    fn a_blank_line_is_an_empty_value_of_one_column_and_nothing_before_the_header() {
        let all = read_all(b"\n\r\na\n\n\"x\ny\"\n\r\nb\n", 64).unwrap();
        let lines: Vec<_> = all.iter().map(|(line, fields)| (*line, fields[0].as_str())).collect();
        assert_eq!(lines, [(3, "a"), (4, ""), (5, "x\ny"), (7, ""), (8, "b")]);
        assert!(fields("\n\n").is_empty());
        assert_eq!(fields("a,b\n1,2\n\n\r\n\n"), [["a", "b"], ["1", "2"]]);
        assert!(fields("").is_empty());
    }

    #[test]
    fn a_blank_line_between_records_of_several_columns_is_an_error() {
        for (text, message) in [
            ("a,b\n1,2\n\n\n3,4\n", "line 3: it is a blank line, and a record has 2 values"),
            ("\na,b\n\r\n3,4", "line 3: it is a blank line, and a record has 2 values"),
        ] {
            for capacity in [1, 3, 64] {
                assert_eq!(read_all(text.as_bytes(), capacity).unwrap_err(), message);
            }
        }
    }

    #[test]
    fn a_record_ends_where_it_has_more_values_than_the_header() {
        let endless = std::io::Read::chain(b"a,b\nx".as_slice(), std::io::repeat(b','));
        let mut records = Records::new(BufReader::new(endless), b',');
        let mut record = Record::default();
        records.read(&mut record).unwrap();
        let error = records.read(&mut record).unwrap_err().to_string();
        assert_eq!(error, "line 2: `x` begins a record of more values than the header has (2)");
        assert_eq!(record.len(), 3);
        let error = read_all(b"a\n1,", 64).unwrap_err();
        assert_eq!(error, "line 2: `1` begins a record of more values than the header has (1)");
    }

    #[test]
    fn headers_and_records_have_a_longest_length() {
        for byte in [b',', b'x', b'"'] {
            // Quotes in pairs are the text of quotes.
            let mut records = Records::new(BufReader::new(std::io::repeat(byte)), b',');
            let error = records.read(&mut Record::default()).unwrap_err().to_string();
            assert!(error.ends_with("begins a header of more than 1 MiB"), "{error}");
        }
        let endless = std::io::Read::chain(b"a\n\"".as_slice(), std::io::repeat(b'x'));
        let mut records = Records::new(BufReader::new(endless), b',');
        let mut record = Record::default();
        records.read(&mut record).unwrap();
        let error = records.read(&mut record).unwrap_err().to_string();
        assert!(error.starts_with("line 2: ") && error.ends_with("more than 4 MiB"), "{error}");
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
