//! Records to write, and the written files.

use formsvc_export::{Destination, Format, RenderOptions, Rendered, StoredRow, render};

pub(crate) const TIME: &str = "2026-01-01T00:00:00.000Z";

/// A stored row at [`TIME`].
pub(crate) fn stored<'a>(id: &'a str, data: &'a str) -> StoredRow<'a> {
    StoredRow { id, created_at: TIME, instant: 1_767_225_600_000_000, data, extra: "" }
}

/// Renders rows to memory.
pub(crate) fn rendered(options: &RenderOptions, rows: &[StoredRow<'_>]) -> (Vec<u8>, Rendered) {
    let mut out = Vec::new();
    let destination = Destination::stream(Box::new(&mut out));
    let done = render(&rows.to_vec(), options, destination).unwrap();
    (out, done)
}

/// Renders pages of answers to text. Ids count from 1.
pub(crate) fn written(options: &RenderOptions, pages: &[Vec<String>]) -> (String, Rendered) {
    let mut out = Vec::new();
    let done = write_to(Destination::stream(Box::new(&mut out)), options, pages);
    (String::from_utf8(out).unwrap(), done)
}

/// Renders pages of answers.
pub(crate) fn write_to(
    destination: Destination<'_>,
    options: &RenderOptions,
    pages: &[Vec<String>],
) -> Rendered {
    let answers: Vec<&String> = pages.iter().flatten().collect();
    let ids: Vec<String> = (1..=answers.len()).map(|number| format!("sub_{number}")).collect();
    let rows: Vec<_> = ids.iter().zip(answers).map(|(id, data)| stored(id, data)).collect();
    render(&rows, options, destination).unwrap()
}

/// A format without the formula guard.
pub(crate) fn options(format: Format) -> RenderOptions {
    RenderOptions::new(format).formula_guard(false)
}

/// One page of answers.
pub(crate) fn page(answers: &[&str]) -> Vec<Vec<String>> {
    vec![answers.iter().map(|data| (*data).to_owned()).collect()]
}

/// Reads CSV with another library than the one that wrote it.
pub(crate) fn read_csv(text: &str) -> Vec<Vec<String>> {
    let mut reader = simple_csv::SimpleCsvReader::new(text.as_bytes());
    let mut rows = Vec::new();
    while let Some(row) = reader.next_row() {
        rows.push(row.unwrap().to_vec());
    }
    rows
}
