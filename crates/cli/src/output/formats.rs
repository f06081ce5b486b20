//! Writes items for programs, as JSON, NDJSON, CSV or TSV.

use std::io::{self, Write};

use formsvc_table::guarded;

use super::grid::Grid;
use super::listing::Listing;

/// Writes the items as one JSON array.
pub(super) fn json(out: &mut dyn Write, listing: &Listing) -> io::Result<()> {
    if listing.is_empty() {
        return writeln!(out, "[]");
    }
    for (at, item) in listing.json().enumerate() {
        write!(out, "{}{item}", if at == 0 { "[\n" } else { ",\n" })?;
    }
    writeln!(out, "\n]")
}

/// Writes one JSON object per line.
pub(super) fn ndjson(out: &mut dyn Write, listing: &Listing) -> io::Result<()> {
    listing.json().try_for_each(|item| writeln!(out, "{item}"))
}

/// Writes CSV, with a header if `header` is true. Guards cells that look like formulas, because users open CSV
/// files in spreadsheets.
pub(super) fn csv(out: &mut dyn Write, grid: &Grid<'_>, header: bool) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    if header {
        csv.write_record(grid.columns.iter().map(|column| guarded(&column.name).into_owned()))?;
    }
    for row in grid.rows() {
        csv.write_record(row.iter().map(|cell| {
            let text = &*cell.text;
            if cell.free { guarded(text).into_owned() } else { text.to_owned() }
        }))?;
    }
    csv.flush()
}

/// Writes TSV without a header, one line per item. A tab, line break or backslash in a value is escaped as `\t`,
/// `\n`, `\r` or `\\`, so that each line is one row.
pub(super) fn tsv(out: &mut dyn Write, grid: &Grid<'_>) -> io::Result<()> {
    for row in grid.rows() {
        for (at, cell) in row.iter().enumerate() {
            if at > 0 {
                out.write_all(b"\t")?;
            }
            out.write_all(escaped(&cell.text).as_bytes())?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn escaped(cell: &str) -> String {
    let text = cell.replace('\\', "\\\\").replace('\t', "\\t");
    text.replace('\n', "\\n").replace('\r', "\\r")
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;
    use crate::output::Field;

    const FIELDS: &[Field] = &[Field::new("id"), Field::new("=title")];

    fn listing() -> Listing {
        let mut listing = Listing::new(FIELDS, None);
        for json in [r#"{"id":-1e5,"=title":"a\tb\n\\"}"#, r#"{"id":"-1e5","=title":"=1"}"#] {
            listing.push(&RawValue::from_string(json.to_owned()).unwrap());
        }
        listing
    }

    fn written(write: impl FnOnce(&Listing, &mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&listing(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn tsv_escapes_tabs_and_line_breaks() {
        let tsv = written(|list, out| tsv(out, &list.grid()));
        assert_eq!(tsv, "-1e5\ta\\tb\\n\\\\\n-1e5\t=1\n");
    }

    #[test]
    fn csv_has_a_header_and_guarded_formulas() {
        let csv = written(|list, out| csv(out, &list.grid(), true));
        assert_eq!(csv, "id,'=title\n-1e5,\"a\tb\n\\\"\n'-1e5,'=1\n");
    }

    #[test]
    fn json_is_an_array_and_ndjson_one_object_per_line() {
        let items = written(|list, out| ndjson(out, list));
        let (one, other) = items.trim_end().split_once('\n').unwrap();
        assert_eq!(one, r#"{"id":-1e5,"=title":"a\tb\n\\"}"#);
        assert_eq!(written(|list, out| json(out, list)), format!("[\n{one},\n{other}\n]\n"));
    }
}
