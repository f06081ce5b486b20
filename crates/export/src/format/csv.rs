//! Comma-separated values: one column a question, the right header, whenever a question appears.
//!
//! Rows are written as they come, under the columns known so far. A label met later opens a new
//! stretch of wider rows; if that happened, [`finish`](CsvWriter::finish) copies the rows once more
//! under the full header, widening the earlier ones. Memory does not grow with the rows.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek, SeekFrom, Write};

use formsvc_protocol::for_each_answer;

use crate::cell::cell;
use crate::columns::Columns;
use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::widen::{Stretch, widen};
use crate::format::{RecordWriter, Written};
use crate::guard::needs_guard;
use crate::place::Places;
use crate::record::Record;

/// The table's own columns, before those of the answers.
const OWN_COLUMNS: [&str; 2] = ["id", "created_at"];

/// Bytes that are written or read at a time: without it, copying rows would be a system call or two
/// for each.
const BUFFER: usize = 64 * 1024;

pub(super) struct CsvWriter<'a> {
    rows: csv::Writer<Counted<Work<'a>>>,
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
            match tempfile::tempfile() {
                Ok(spool) => Work::Spooled { spool, out: destination },
                Err(source) => {
                    let path = Some(std::env::temp_dir());
                    return Err(ExportError::Output { operation: Operation::Create, path, source });
                }
            }
        };
        Ok(Self {
            rows: row_writer(Counted { inner: work, bytes: 0 }),
            places: Places::new(Columns::new(&OWN_COLUMNS)),
            stretches: Vec::new(),
            guard: Guard { on: guard, changed: 0 },
            submissions: 0,
        })
    }

    fn destination(&self) -> &Destination<'a> {
        match &self.rows.get_ref().inner {
            Work::InPlace(out) | Work::Spooled { out, .. } => out,
        }
    }

    fn failed(&self, error: impl Into<io::Error>) -> ExportError {
        self.destination().error(Operation::Write, error.into())
    }

    /// Lays the columns out by the first submissions and writes the header they give.
    fn begin(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        let sequences = records.iter().map(labels).collect::<Result<Vec<_>, _>>()?;
        let sequences = sequences.iter().map(|labels| labels.iter().map(AsRef::as_ref));
        self.places = Places::new(Columns::lay_out(&OWN_COLUMNS, sequences));
        let mut header = Guard { on: self.guard.on, changed: 0 };
        write_header(&mut self.rows, self.places.columns(), &mut header)
            .and_then(|()| self.begin_stretch())
            .map_err(|error| self.failed(error))
    }

    /// From here on rows have as many columns as are known now.
    fn begin_stretch(&mut self) -> io::Result<()> {
        self.rows.flush()?;
        let start = self.rows.get_ref().bytes;
        self.stretches.push(Stretch { start, columns: self.places.columns().len() });
        Ok(())
    }

    fn write_row(&mut self, record: &Record<'_>, cells: &[Option<&str>]) -> io::Result<()> {
        if self.stretches.last().is_none_or(|stretch| stretch.columns < self.places.columns().len())
        {
            self.begin_stretch()?;
        }
        self.guard.write(&mut self.rows, record.id)?;
        self.rows.write_field(record.created_at)?;
        for value in cells {
            match value.map(cell) {
                Some(cell) if cell.free => self.guard.write(&mut self.rows, &cell.text)?,
                Some(cell) => self.rows.write_field(cell.text.as_bytes())?,
                None => self.rows.write_field(b"")?,
            }
        }
        end_record(&mut self.rows)
    }
}

impl RecordWriter for CsvWriter<'_> {
    fn write(&mut self, records: &[Record<'_>]) -> Result<(), ExportError> {
        if self.submissions == 0 && !records.is_empty() {
            self.begin(records)?;
        }
        let mut cells = Vec::new();
        for record in records {
            let Some(()) = self.places.place(record.data, &mut cells) else {
                return Err(not_an_object(record));
            };
            self.write_row(record, &cells).map_err(|error| self.failed(error))?;
            self.submissions += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, ExportError> {
        if self.submissions == 0 {
            self.begin(&[])?;
        }
        self.rows.flush().map_err(|error| self.failed(error))?;
        let Self { rows, places, stretches, mut guard, submissions } = *self;
        let columns = places.columns();
        let work = rows.into_inner().map_err(csv::IntoInnerError::into_error);
        let work = work.expect("all rows were flushed a line above").inner;
        let mut header = row_writer(Vec::new());
        write_header(&mut header, columns, &mut guard)
            .expect("a vector takes whatever is written to it");
        let header = header.into_inner().expect("a vector takes whatever is written to it");
        complete(work, &header, &stretches, columns.len())?.publish()?;
        Ok(Written {
            submissions,
            columns: OWN_COLUMNS.len() + columns.len(),
            guarded_cells: guard.changed,
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
    let mut buffered = BufWriter::with_capacity(BUFFER, &mut out);
    let copied = rows
        .seek(SeekFrom::Start(first_row))
        .and_then(|_| buffered.write_all(header))
        .and_then(|()| {
            let mut rows = BufReader::with_capacity(BUFFER, rows);
            widen(&mut rows, &mut buffered, stretches, columns)
        })
        .and_then(|()| buffered.flush());
    drop(buffered);
    match copied {
        Ok(()) => Ok(out),
        Err(error) => Err(out.error(Operation::Write, error)),
    }
}

/// The labels of a submission in its own order.
fn labels<'a>(record: &Record<'a>) -> Result<Vec<Cow<'a, str>>, ExportError> {
    let mut labels = Vec::new();
    for_each_answer(record.data, |label, _| labels.push(label))
        .map_err(|source| unreadable(record, source))?;
    Ok(labels)
}

/// The error of answers in which no literals were found; the parser says why.
fn not_an_object(record: &Record<'_>) -> ExportError {
    let error = for_each_answer(record.data, |_, _| {});
    unreadable(record, error.expect_err("the literals of every JSON object are found"))
}

fn unreadable(record: &Record<'_>, source: serde_json::Error) -> ExportError {
    ExportError::Answers { submission: record.id.to_owned(), source }
}

fn row_writer<W: Write>(out: W) -> csv::Writer<W> {
    // Flexible, because rows grow when a label appears late.
    csv::WriterBuilder::new().flexible(true).buffer_capacity(BUFFER).from_writer(out)
}

fn write_header<W: Write>(
    rows: &mut csv::Writer<W>,
    columns: &Columns,
    guard: &mut Guard,
) -> io::Result<()> {
    for name in OWN_COLUMNS {
        rows.write_field(name)?;
    }
    for name in columns.names() {
        guard.write(rows, name)?;
    }
    end_record(rows)
}

fn end_record<W: Write>(rows: &mut csv::Writer<W>) -> io::Result<()> {
    Ok(rows.write_record(None::<&[u8]>)?)
}

/// The formula guard, counting what it changes.
struct Guard {
    on: bool,
    changed: u64,
}

impl Guard {
    fn write<W: Write>(&mut self, rows: &mut csv::Writer<W>, text: &str) -> io::Result<()> {
        if self.on && needs_guard(text) {
            self.changed += 1;
            Ok(rows.write_field(format!("'{text}"))?)
        } else {
            Ok(rows.write_field(text)?)
        }
    }
}

/// Counts what passes, so that a row's place in the file is known.
struct Counted<W> {
    inner: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
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
