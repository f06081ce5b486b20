//! The text of CSV (RFC 4180): cells, quoted where they must be, and rows.

/// Appends a cell. It is quoted when it holds a comma, a quotation mark or a line break.
pub(super) fn put_cell(row: &mut Vec<u8>, text: &str) {
    put(row, text, "");
}

/// Appends a cell that is known to hold nothing that must be quoted.
pub(super) fn put_plain_cell(row: &mut Vec<u8>, text: &str) {
    debug_assert!(!needs_quotes(text.as_bytes()), "`{text}` must be quoted");
    row.extend_from_slice(text.as_bytes());
    row.push(b',');
}

/// Appends a cell that begins with `'`, which spreadsheets read as "this is text".
pub(super) fn put_guarded_cell(row: &mut Vec<u8>, text: &str) {
    put(row, text, "'");
}

/// Ends the row; every row has a cell.
pub(super) fn end_row(row: &mut Vec<u8>) {
    let last = row.pop();
    debug_assert_eq!(last, Some(b','), "a row without a cell");
    row.push(b'\n');
}

fn put(row: &mut Vec<u8>, text: &str, before: &str) {
    let text = text.as_bytes();
    if needs_quotes(text) {
        row.push(b'"');
        row.extend_from_slice(before.as_bytes());
        let mut copied = 0;
        for at in memchr::memchr_iter(b'"', text) {
            row.extend_from_slice(&text[copied..=at]);
            row.push(b'"');
            copied = at + 1;
        }
        row.extend_from_slice(&text[copied..]);
        row.push(b'"');
    } else {
        row.extend_from_slice(before.as_bytes());
        row.extend_from_slice(text);
    }
    row.push(b',');
}

/// Looks at every byte even when the first tells: so the compiler compares many at once.
fn needs_quotes(text: &[u8]) -> bool {
    let special = |byte: u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    text.iter().fold(false, |found, byte| found | special(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(cells: &[&str]) -> String {
        let mut row = Vec::new();
        for cell in cells {
            put_cell(&mut row, cell);
        }
        end_row(&mut row);
        String::from_utf8(row).unwrap()
    }

    #[test]
    fn only_cells_that_must_be_are_quoted() {
        assert_eq!(text(&["a b", "", "1,2", "é'"]), "a b,,\"1,2\",é'\n");
        assert_eq!(
            text(&["\"", "a\nb", "\r", "x\"\"y"]),
            "\"\"\"\",\"a\nb\",\"\r\",\"x\"\"\"\"y\"\n"
        );
        let mut row = Vec::new();
        put_guarded_cell(&mut row, "=1");
        put_guarded_cell(&mut row, "=1,\"2\"");
        assert_eq!(row, b"'=1,\"'=1,\"\"2\"\"\",");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            rows in prop::collection::vec(prop::collection::vec("(\\PC|[,\"\r\n ]){0,20}", 2..5), 1..5)
        ) {
            let mut out = Vec::new();
            for row in &rows {
                for cell in row {
                    put_cell(&mut out, cell);
                }
                end_row(&mut out);
            }
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(&*out);
            let read: Vec<Vec<String>> =
                reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
            prop_assert_eq!(read, rows);
        }
    }
}
