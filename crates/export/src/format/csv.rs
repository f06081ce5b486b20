//! Comma-separated values: one column a question, the right header, whenever a question appears.
//!
//! Rows are written as they come, under the columns known so far. A label met later opens a new
//! stretch of wider rows; if that happened, [`finish`](CsvWriter::finish) copies the rows once more
//! under the full header, widening the earlier ones. Memory does not grow with the rows.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};

use formsvc_protocol::{Literal, text_of};

use crate::blocks::Blocks;
use crate::cell::cell;
use crate::columns::Columns;
use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::csv_text::{end_row, put_cell, put_guarded_cell, put_plain_cell};
use crate::format::widen::{Stretch, widen};
use crate::format::{RecordWriter, Written};
use crate::guard::needs_guard;
use crate::place::Places;
use crate::record::Record;

/// The table's own columns, before those of the answers.
const OWN_COLUMNS: [&str; 2] = ["id", "created_at"];

/// Bytes of rows that are read again at a time.
const READ: usize = 128 * 1024;

pub(super) struct CsvWriter<'a> {
    rows: Blocks<Work<'a>>,
    places: Places,
    stretches: Vec<Stretch>,
    guard: Guard,
    submissions: u64,
}

/// Where rows go until the header is known to be right: the working file of a file destination, or
/// a nameless temporary file before a stream.
enum Work<'a> {
    InPlace(Destination<'a>),
    Spooled { spool: File, out: Destination<'a> },
}

impl<'a> CsvWriter<'a> {
    pub(super) fn new(destination: Destination<'a>, guard: bool) -> Result<Self, ExportError> {
        let work = if destination.is_file() {
            Work::InPlace(destination)
        } else {
            let spool = tempfile::tempfile().map_err(spool_failed)?;
            Work::Spooled { spool, out: destination }
        };
        Ok(Self {
            rows: Blocks::new(work),
            places: Places::new(Columns::new(&OWN_COLUMNS)),
            stretches: Vec::new(),
            guard: Guard { on: guard, changed: 0 },
            submissions: 0,
        })
    }

    fn failed(&self, error: io::Error) -> ExportError {
        self.rows.get_ref().error(error)
    }

    /// Lays the columns out by the first submissions and writes the header they give.
    fn begin(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        let sequences: Vec<Vec<_>> = records.iter().map(labels).collect();
        let sequences = sequences.iter().map(|labels| labels.iter().map(AsRef::as_ref));
        self.places = Places::new(Columns::lay_out(&OWN_COLUMNS, sequences));
        let mut header = Guard { on: self.guard.on, changed: 0 };
        let columns = self.places.columns();
        let written = self.rows.append(0, |out| put_header(out, columns, &mut header));
        written.map_err(|error| self.failed(error))?;
        self.begin_stretch();
        Ok(())
    }

    /// From here on rows have as many columns as are known now.
    fn begin_stretch(&mut self) {
        let (start, columns) = (self.rows.position(), self.places.columns().len());
        self.stretches.push(Stretch { start, columns });
    }

    fn write_row(&mut self, record: &Record<'_>, cells: &[Option<Literal<'_>>]) -> io::Result<()> {
        if self.stretches.last().is_none_or(|stretch| stretch.columns < self.places.columns().len())
        {
            self.begin_stretch();
        }
        let guard = &mut self.guard;
        // Labels are left out, commas and quotes come in.
        let length = record.data.len() + record.data.len() / 4 + 128;
        self.rows.append(length, |row| {
            guard.put(row, record.id);
            put_cell(row, record.created_at);
            for value in cells {
                match value {
                    Some(value) => guard.put_value(row, *value),
                    None => put_plain_cell(row, ""),
                }
            }
            end_row(row);
        })
    }
}

impl RecordWriter for CsvWriter<'_> {
    fn write(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        if self.submissions == 0 && !records.is_empty() {
            self.begin(records)?;
        }
        let mut cells = Vec::new();
        for record in records {
            self.places.place(record.answers, &mut cells);
            self.write_row(record, &cells).map_err(|error| self.failed(error))?;
            self.submissions += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, ExportError> {
        if self.submissions == 0 {
            self.begin(&[])?;
        }
        let Self { rows, places, stretches, mut guard, submissions } = *self;
        let columns = places.columns();
        let mut header = Vec::new();
        put_header(&mut header, columns, &mut guard);
        let work = rows.into_inner().map_err(|(error, work)| work.error(error))?;
        complete(work, &header, &stretches, columns.len())?.publish()?;
        Ok(Written {
            submissions,
            columns: OWN_COLUMNS.len() + columns.len(),
            guarded_cells: guard.changed,
            ..Written::default()
        })
    }
}

/// Brings the rows to the destination under the final header.
fn complete<'a>(
    work: Work<'a>,
    header: &[u8],
    stretches: &[Stretch],
    columns: usize,
) -> Result<Destination<'a>, ExportError> {
    let as_is = stretches.iter().all(|stretch| stretch.columns == columns);
    let (mut rows, mut out) = match work {
        Work::InPlace(out) if as_is => return Ok(out),
        Work::InPlace(mut out) => match out.start_over() {
            Ok(rows) => {
                let rows = rows.expect("rows are written in place only in a file").into_file();
                (rows, out)
            }
            Err(error) => return Err(out.error(Operation::Create, error)),
        },
        Work::Spooled { spool, out } => (spool, out),
    };
    let first_row = stretches.first().map_or(0, |stretch| stretch.start);
    let mut blocks = Blocks::new(&mut out);
    let copied = rows
        .seek(SeekFrom::Start(first_row))
        .and_then(|_| blocks.write_all(header))
        .and_then(|()| {
            let mut rows = BufReader::with_capacity(READ, rows);
            widen(&mut rows, &mut blocks, stretches, columns)
        })
        .and_then(|()| blocks.flush());
    drop(blocks);
    match copied {
        Ok(()) => Ok(out),
        Err(error) => Err(out.error(Operation::Write, error)),
    }
}

fn spool_failed(source: io::Error) -> ExportError {
    let path = Some(std::env::temp_dir());
    ExportError::Output { operation: Operation::Spool, path, source }
}

/// The labels of a submission in its own order.
fn labels<'a>(record: &Record<'a>) -> Vec<Cow<'a, str>> {
    record.answers.iter().map(|(label, _)| text_of(label)).collect()
}

fn put_header(row: &mut Vec<u8>, columns: &Columns, guard: &mut Guard) {
    for name in OWN_COLUMNS {
        put_cell(row, name);
    }
    for name in columns.names() {
        guard.put(row, name);
    }
    end_row(row);
}

/// The formula guard, counting what it changes.
struct Guard {
    on: bool,
    changed: u64,
}

impl Guard {
    fn put_value(&mut self, row: &mut Vec<u8>, value: Literal<'_>) {
        let quoted = value.text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match quoted.filter(|_| value.plain) {
            // Nearly every answer.
            Some(text) if !self.guards(text) => put_plain_cell(row, text),
            _ => {
                let cell = cell(value.text);
                if cell.free { self.put(row, &cell.text) } else { put_cell(row, &cell.text) }
            }
        }
    }

    fn put(&mut self, row: &mut Vec<u8>, text: &str) {
        if self.guards(text) {
            self.changed += 1;
            put_guarded_cell(row, text);
        } else {
            put_cell(row, text);
        }
    }

    fn guards(&self, text: &str) -> bool {
        self.on && needs_guard(text)
    }
}

impl Work<'_> {
    /// The error of writing rows to where they wait.
    fn error(&self, source: io::Error) -> ExportError {
        match self {
            Self::InPlace(out) => out.error(Operation::Write, source),
            Self::Spooled { .. } => spool_failed(source),
        }
    }
}

impl Write for Work<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Self::InPlace(out) => out.write(buf),
            Self::Spooled { spool, .. } => spool.write(buf),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::InPlace(out) => out.flush(),
            Self::Spooled { spool, .. } => spool.flush(),
        }
    }
}
