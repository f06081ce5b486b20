//! Giving rows that were written under fewer columns their missing empty cells.

use std::io::{self, BufRead, Read, Write};

/// Rows from `start` on have `columns` answers, until the next stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Offset of the first row in the file it was written to.
    pub(super) start: u64,
    /// Columns of answers its rows have.
    pub(super) columns: usize,
}

/// Copies rows, which begin at the first stretch's start, each widened to `columns`.
pub(super) fn widen(
    rows: &mut impl BufRead,
    out: &mut impl Write,
    stretches: &[Stretch],
    columns: usize,
) -> io::Result<()> {
    for (at, stretch) in stretches.iter().enumerate() {
        let end = stretches.get(at + 1).map_or(u64::MAX, |next| next.start);
        let padding = vec![b','; columns - stretch.columns];
        copy_padded(&mut Read::take(&mut *rows, end - stretch.start), out, &padding)?;
    }
    Ok(())
}

/// Copies, with `padding` before each line end that is not inside quotes.
///
/// A quote inside a quoted cell is written twice, so that counting quotes tells inside from outside.
fn copy_padded(rows: &mut impl BufRead, out: &mut impl Write, padding: &[u8]) -> io::Result<()> {
    let mut quoted = false;
    loop {
        let chunk = rows.fill_buf()?;
        if chunk.is_empty() {
            return Ok(());
        }
        let length = chunk.len();
        if padding.is_empty() {
            out.write_all(chunk)?;
        } else {
            let mut copied = 0;
            for at in memchr::memchr2_iter(b'"', b'\n', chunk) {
                if chunk[at] == b'"' {
                    quoted = !quoted;
                } else if !quoted {
                    out.write_all(&chunk[copied..at])?;
                    out.write_all(padding)?;
                    copied = at;
                }
            }
            out.write_all(&chunk[copied..])?;
        }
        rows.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn widened(rows: &str, stretches: &[Stretch], columns: usize, chunk: usize) -> String {
        let mut out = Vec::new();
        let mut rows = BufReader::with_capacity(chunk, rows.as_bytes());
        widen(&mut rows, &mut out, stretches, columns).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn only_line_ends_outside_quotes_are_padded_wherever_reads_break() {
        let rows = "a,\"x\ny\"\"\n\"\nb,z\nc,d,e\n";
        let stretches = [Stretch { start: 0, columns: 2 }, Stretch { start: 17, columns: 3 }];
        for chunk in 1..=rows.len() {
            assert_eq!(
                widened(rows, &stretches, 4, chunk),
                "a,\"x\ny\"\"\n\",,\nb,z,,\nc,d,e,\n",
                "reads of {chunk} bytes"
            );
        }
    }
}
