//! Records to write, and what was written.

use std::sync::{Arc, Mutex};

use formsvc_client::{Answers, Submission};
use formsvc_export::{
    Destination, Format, Options, RenderOptions, Rendered, StoredRow, Written, render, writer,
};

pub(crate) const TIME: &str = "2026-01-01T00:00:00.000Z";

/// A stream that can be read once it was written.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Shared {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

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

/// Writes pages of answers to a stream. Ids count from 1.
pub(crate) fn written(options: Options, pages: &[Vec<String>]) -> (String, Written) {
    let out = Shared::default();
    let done = write_to(Destination::stream(Box::new(out.clone())), options, pages);
    (out.text(), done)
}

/// Writes pages of answers.
pub(crate) fn write_to(
    destination: Destination<'_>,
    options: Options,
    pages: &[Vec<String>],
) -> Written {
    let mut writer = writer(destination, options).unwrap();
    let mut number = 0;
    for page in pages {
        let rows: Vec<_> = page
            .iter()
            .map(|data| {
                number += 1;
                let id = format!("sub_{number}").parse().unwrap();
                Submission::new(id, Answers::parse(data.as_str()).unwrap(), TIME.parse().unwrap())
            })
            .collect();
        writer.write(&rows).unwrap();
    }
    writer.finish().unwrap()
}

pub(crate) fn options(format: Format) -> Options {
    Options { format, formula_guard: false }
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
