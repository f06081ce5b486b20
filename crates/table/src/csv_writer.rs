//! Rows as CSV, quoted as in RFC 4180. Lines end with LF, unless the dialect is that of Excel.

use std::io::{self, Write};

use crate::{Cell, needs_guard};

/// Characters of a cell in Excel, counted in UTF-16 units.
pub const EXCEL_CELL_MAX: usize = 32_767;

/// Writes rows as CSV: comma, LF, quotation marks where they are needed.
///
/// With the formula guard, free text that a spreadsheet would run begins with an apostrophe.
///
/// ```
/// use formsvc_table::{CsvOptions, CsvWriter, cell};
/// let mut csv = CsvWriter::new(Vec::new(), CsvOptions::default())?;
/// csv.write_row([cell(r#""=1+1""#), cell("-1"), cell(r#""a,b""#)])?;
/// assert_eq!(csv.guarded_cells(), 1);
/// assert_eq!(csv.into_inner()?, b"'=1+1,-1,\"a,b\"\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct CsvWriter<W: Write> {
    out: W,
    options: CsvOptions,
    /// The current row.
    line: Vec<u8>,
    guarded_cells: u64,
    long_cells: u64,
}

/// The dialect of CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// The character between cells: any ASCII character except a quotation mark or a line break.
    pub delimiter: u8,
    /// Begins with a byte order mark, without which Excel does not recognize UTF-8, and ends lines in
    /// CR LF instead of LF.
    pub excel: bool,
    /// Turns the formula guard on.
    pub guard: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self { delimiter: b',', excel: false, guard: true }
    }
}

impl<W: Write> CsvWriter<W> {
    /// Creates a writer of a dialect and writes the byte order mark.
    pub fn new(mut out: W, options: CsvOptions) -> io::Result<Self> {
        if options.excel {
            out.write_all("\u{feff}".as_bytes())?;
        }
        Ok(Self { out, options, line: Vec::new(), guarded_cells: 0, long_cells: 0 })
    }

    /// Writes one row.
    pub fn write_row<'a>(&mut self, cells: impl IntoIterator<Item = Cell<'a>>) -> io::Result<()> {
        self.line.clear();
        let mut count = 0;
        for cell in cells {
            if count > 0 {
                self.line.push(self.options.delimiter);
            }
            count += 1;
            // Rows of a form with many labels are mostly empty.
            if !cell.text.is_empty() {
                self.push_cell(&cell);
            }
        }
        if count == 1 && self.line.is_empty() {
            // Readers skip an empty line.
            self.line.extend_from_slice(b"\"\"");
        }
        self.line.extend_from_slice(if self.options.excel { b"\r\n" } else { b"\n" });
        self.out.write_all(&self.line)
    }

    fn push_cell(&mut self, cell: &Cell<'_>) {
        let CsvOptions { delimiter, guard, .. } = self.options;
        let is_special = |byte: &u8| *byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n');
        self.long_cells += u64::from(is_long(&cell.text));
        let text = cell.text.as_bytes();
        let is_quoted = text.iter().any(is_special);
        if is_quoted {
            self.line.push(b'"');
        }
        if guard && cell.free && needs_guard(&cell.text) {
            self.guarded_cells += 1;
            self.line.push(b'\'');
        }
        if !is_quoted {
            self.line.extend_from_slice(text);
            return;
        }
        for part in text.split_inclusive(|byte| *byte == b'"') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\"") {
                self.line.push(b'"');
            }
        }
        self.line.push(b'"');
    }

    /// Returns the number of cells that the formula guard changed.
    pub fn guarded_cells(&self) -> u64 {
        self.guarded_cells
    }

    /// Returns the number of cells with more characters than a cell of Excel. They are written completely.
    pub fn long_cells(&self) -> u64 {
        self.long_cells
    }

    /// Flushes the rows and returns the output.
    pub fn into_inner(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Returns true if a text has more characters than a cell of Excel.
pub fn is_long(text: &str) -> bool {
    text.len() > EXCEL_CELL_MAX && text.encode_utf16().count() > EXCEL_CELL_MAX
}

/// Returns the part of a text that fits into a cell of Excel.
pub fn excel_prefix(text: &str) -> &str {
    let mut units = 0;
    let end = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > EXCEL_CELL_MAX
    });
    end.map_or(text, |(at, _)| &text[..at])
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use proptest::prelude::*;

    use super::*;

    fn free(text: &str) -> Cell<'_> {
        Cell { text: Cow::Borrowed(text), free: true }
    }

    fn written(rows: &[Vec<String>], guard: bool) -> String {
        let options = CsvOptions { guard, ..CsvOptions::default() };
        let mut csv = CsvWriter::new(Vec::new(), options).unwrap();
        for row in rows {
            csv.write_row(row.iter().map(|text| free(text))).unwrap();
        }
        String::from_utf8(csv.into_inner().unwrap()).unwrap()
    }

    #[test]
    fn only_cells_that_need_quotes_are_quoted() {
        let row = |cells: &[&str]| vec![cells.iter().map(|&cell| cell.to_owned()).collect()];
        assert_eq!(written(&row(&["a b", "", "1,2", "é'"]), false), "a b,,\"1,2\",é'\n");
        assert_eq!(written(&row(&["\"", "a\nb", "\r"]), false), "\"\"\"\",\"a\nb\",\"\r\"\n");
        assert_eq!(written(&row(&["=1", "=1,2"]), true), "'=1,\"'=1,2\"\n");
    }

    #[test]
    fn excel_prefix_ends_between_characters() {
        let text = format!("{}😀", "x".repeat(EXCEL_CELL_MAX - 1));
        assert_eq!(excel_prefix(&text).len(), EXCEL_CELL_MAX - 1);
        assert_eq!(excel_prefix("é"), "é");
    }

    #[test]
    fn row_of_one_empty_cell_is_no_empty_line() {
        assert_eq!(written(&[vec![String::new()], vec!["a".to_owned()]], false), "\"\"\na\n");
    }

    #[test]
    fn excel_dialect_has_byte_order_mark_and_crlf() {
        let options = CsvOptions { delimiter: b';', excel: true, guard: false };
        let mut csv = CsvWriter::new(Vec::new(), options).unwrap();
        csv.write_row([free("a;b"), free("c,d"), free("e\nf")]).unwrap();
        assert_eq!(csv.into_inner().unwrap(), b"\xef\xbb\xbf\"a;b\";c,d;\"e\nf\"\r\n");
    }

    #[test]
    fn guard_spares_numbers_and_can_be_off() {
        let mut csv = CsvWriter::new(Vec::new(), CsvOptions::default()).unwrap();
        csv.write_row([free("-1"), Cell { text: "-1+1".into(), free: false }, free("-x")]).unwrap();
        assert_eq!(csv.guarded_cells(), 1);
        assert_eq!(csv.into_inner().unwrap(), b"-1,-1+1,'-x\n");
        assert_eq!(written(&[vec!["=1".to_owned()]], false), "=1\n");
    }

    proptest! {
        #[test]
        fn written_rows_are_read_back(
            rows in prop::collection::vec(prop::collection::vec("(\\PC|[,\"\r\n ]){0,20}", 2..5), 1..5)
        ) {
            let text = written(&rows, false);
            let mut reader = simple_csv::SimpleCsvReader::new(text.as_bytes());
            let mut read = Vec::new();
            while let Some(row) = reader.next_row() {
                read.push(row.unwrap().to_vec());
            }
            prop_assert_eq!(read, rows);
        }
    }
}
