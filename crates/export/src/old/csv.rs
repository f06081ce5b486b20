//! Comma-separated values: one column for each label.
//!
//! Rows are written under the columns known so far. A new label starts a stretch of wider rows; then
//! [`finish`](CsvWriter::finish) copies the rows once more under the complete header and widens the
//! earlier ones. Memory does not grow with the number of rows.

use std::fs::File;
use std::io::{self, BufReader, Seek, SeekFrom, Write};

use formsvc_client::{Answer, Submission};
use formsvc_table::{Cell, Columns, cell};

use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::old::blocks::Blocks;
use crate::old::widen::{Stretch, widen};
use crate::old::{RecordWriter, Written};

/// The table's own columns, before those of the answers.
const OWN_COLUMNS: [&str; 2] = ["id", "created_at"];

/// Bytes of rows that are read again at a time.
const READ: usize = 128 * 1024;

pub(super) struct CsvWriter<'a> {
    rows: Blocks<Work<'a>>,
    columns: Columns,
    stretches: Vec<Stretch>,
    guard: bool,
    guarded_cells: u64,
    submissions: u64,
}

/// The place of the rows until the header is complete: the working file of a file destination, or
/// an unnamed temporary file before a stream.
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
            columns: Columns::new(&OWN_COLUMNS),
            stretches: Vec::new(),
            guard,
            guarded_cells: 0,
            submissions: 0,
        })
    }

    fn failed(&self, error: io::Error) -> ExportError {
        self.rows.get_ref().error(error)
    }

    /// Lays the columns out by the first submissions and writes their header.
    fn begin(&mut self, submissions: &[Submission]) -> Result<(), ExportError> {
        let fields: Vec<_> = submissions.iter().map(|row| row.data.fields()).collect();
        let labels = fields.iter().map(|row| row.iter().map(|(label, _)| label.as_ref()));
        self.columns = Columns::lay_out(&OWN_COLUMNS, labels);
        let (header, _) = encode(header(&self.columns), self.guard);
        self.rows.write_all(&header).map_err(|error| self.failed(error))?;
        self.begin_stretch();
        Ok(())
    }

    /// Records that rows have the current number of columns from here on.
    fn begin_stretch(&mut self) {
        let (start, columns) = (self.rows.position(), self.columns.len());
        self.stretches.push(Stretch { start, columns });
    }

    fn write_row(&mut self, submission: &Submission) -> io::Result<()> {
        let answers = self.columns.place(&submission.data);
        if self.stretches.last().is_none_or(|stretch| stretch.columns < self.columns.len()) {
            self.begin_stretch();
        }
        let own = [
            Cell { text: submission.id.as_str().into(), free: true },
            Cell { text: submission.created_at.as_str().into(), free: false },
        ];
        let answers = answers.into_iter().map(|answer| match answer {
            Some(answer) => cell(Answer::as_json(answer)),
            None => Cell::empty(),
        });
        let (row, guarded) = encode(own.into_iter().chain(answers), self.guard);
        self.guarded_cells += guarded;
        self.rows.write_all(&row)
    }
}

impl RecordWriter for CsvWriter<'_> {
    fn write(&mut self, submissions: &[Submission]) -> Result<(), ExportError> {
        if self.submissions == 0 && !submissions.is_empty() {
            self.begin(submissions)?;
        }
        for submission in submissions {
            self.write_row(submission).map_err(|error| self.failed(error))?;
            self.submissions += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written, ExportError> {
        if self.submissions == 0 {
            self.begin(&[])?;
        }
        let Self { rows, columns, stretches, guard, guarded_cells, submissions } = *self;
        let (header, guarded_headings) = encode(header(&columns), guard);
        let work = rows.into_inner().map_err(|(error, work)| work.error(error))?;
        complete(work, &header, &stretches, columns.len())?.publish()?;
        Ok(Written {
            submissions,
            columns: OWN_COLUMNS.len() + columns.len(),
            guarded_cells: guarded_cells + guarded_headings,
            ..Written::default()
        })
    }
}

fn header(columns: &Columns) -> impl Iterator<Item = Cell<'_>> {
    let free = |text| Cell { text: std::borrow::Cow::Borrowed(text), free: true };
    OWN_COLUMNS.into_iter().chain(columns.names()).map(free)
}

/// Returns a row as CSV and the number of cells that the formula guard changed.
fn encode<'c>(cells: impl Iterator<Item = Cell<'c>>, guard: bool) -> (Vec<u8>, u64) {
    let mut csv = formsvc_table::CsvWriter::new(Vec::new(), guard);
    let row = csv.write_row(cells);
    let guarded = csv.guarded_cells();
    let row = row.and_then(|()| csv.into_inner()).expect("a vector accepts all bytes");
    (row, guarded)
}

/// Copies the rows to the destination under the final header.
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
