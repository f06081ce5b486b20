//! Rows to show: as text for tables, as JSON for programs.

use std::io::{self, Write};

use formsvc_export::{Cell, guarded};

/// Items as rows of text under headings, and each as the JSON it came from.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Headings, in lower case with underscores, as field names are.
    pub(crate) columns: Vec<String>,
    /// One row an item; exact text.
    pub(crate) rows: Vec<Vec<Cell<'static>>>,
    /// One JSON text an item.
    pub(crate) json: Vec<String>,
    /// How many columns from the left come last in tables, where space is short: an id is long and
    /// tells a reader little.
    pub(crate) last_in_tables: usize,
}

/// A cell of text that somebody chose.
pub(crate) fn text(text: impl Into<String>) -> Cell<'static> {
    Cell { text: text.into().into(), free: true }
}

impl Listing {
    pub(super) fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.json.is_empty() {
            return writeln!(out, "[]");
        }
        for (at, item) in self.json.iter().enumerate() {
            write!(out, "{}{item}", if at == 0 { "[\n" } else { ",\n" })?;
        }
        writeln!(out, "\n]")
    }

    pub(super) fn write_ndjson(&self, out: &mut dyn Write) -> io::Result<()> {
        self.json.iter().try_for_each(|item| writeln!(out, "{item}"))
    }

    /// With a header, and formulas made inert: this format is opened in spreadsheets.
    pub(super) fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut csv = csv::Writer::from_writer(out);
        csv.write_record(self.columns.iter().map(|name| guarded(name).into_owned()))?;
        for row in &self.rows {
            csv.write_record(row.iter().map(|cell| {
                let text = &*cell.text;
                if cell.free { guarded(text).into_owned() } else { text.to_owned() }
            }))?;
        }
        csv.flush()
    }

    /// Without a header, exact, one line an item: a tab, line break or backslash in a value is
    /// written `\t`, `\n`, `\r` or `\\`, so that a line is always a row.
    pub(super) fn write_tsv(&self, out: &mut dyn Write) -> io::Result<()> {
        for row in &self.rows {
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
}

fn escaped(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    for c in cell.chars() {
        match c {
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\\' => text.push_str("\\\\"),
            c => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(json: &str) -> Cell<'static> {
        Cell { text: json.to_owned().into(), free: false }
    }

    fn listing() -> Listing {
        Listing {
            columns: vec!["id".into(), "=title".into()],
            rows: vec![vec![number("-1e5"), text("a\tb\n\\")], vec![text("-1e5"), text("=1")]],
            json: vec!["{\"id\":1}".into(), "{\"id\":2}".into()],
            last_in_tables: 0,
        }
    }

    fn written(write: impl FnOnce(&Listing, &mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&listing(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_line_of_tsv_is_always_a_row() {
        assert_eq!(written(|list, out| list.write_tsv(out)), "-1e5\ta\\tb\\n\\\\\n-1e5\t=1\n");
    }

    #[test]
    fn csv_has_a_header_and_no_formulas() {
        assert_eq!(
            written(|list, out| list.write_csv(out)),
            "id,'=title\n-1e5,\"a\tb\n\\\"\n'-1e5,'=1\n"
        );
    }

    #[test]
    fn json_is_one_document_and_ndjson_one_a_line() {
        assert_eq!(written(|list, out| list.write_json(out)), "[\n{\"id\":1},\n{\"id\":2}\n]\n");
        assert_eq!(written(|list, out| list.write_ndjson(out)), "{\"id\":1}\n{\"id\":2}\n");
    }
}
