//! Renders stored rows as a file, in two passes: the first one collects the columns.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};

use formsvc_table::{Column, ColumnCollector, ColumnPlan, StoredRow, TableOptions, Value};
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::compress::{Compression, Encoder};
use crate::destination::{Destination, ErrorSource};
use crate::error::{ExportError, Operation};
use crate::format::{
    CsvProfile, FileFormat, Format, RowFormat, SourceInfo, file_format, limit_table, stream_format,
};
use crate::remark::Remark;
use crate::row::RowSource;

/// Bytes that are written at once.
const BLOCK: usize = 256 * 1024;

/// Decides whether a row is in the output; an error ends the rendering.
pub type RowFilter = Box<dyn Fn(&StoredRow<'_>) -> Result<bool, String>>;

/// How rows become a file.
pub struct RenderOptions {
    /// The format.
    pub format: FileFormat,
    /// The columns.
    pub table: TableOptions,
    /// The dialect of CSV and TSV.
    pub csv_profile: CsvProfile,
    /// The character between cells of CSV and TSV, instead of the comma or tab.
    pub delimiter: Option<u8>,
    /// Puts an apostrophe before text of CSV and TSV that a spreadsheet would run as a formula.
    pub formula_guard: bool,
    /// The form of the rows, for formats that record it.
    pub source: SourceInfo,
    /// The rows of the output; all if `None`.
    pub filter: Option<RowFilter>,
    /// The number of rows at most.
    pub limit: Option<u64>,
    /// Computes [`Rendered::sha256`].
    pub checksum: bool,
}

impl RenderOptions {
    /// Returns the default options of a format: all rows, all columns, formula guard on.
    pub fn new(format: impl Into<FileFormat>) -> Self {
        Self {
            format: format.into(),
            table: TableOptions::default(),
            csv_profile: CsvProfile::Rfc4180,
            delimiter: None,
            formula_guard: true,
            source: SourceInfo::default(),
            filter: None,
            limit: None,
            checksum: false,
        }
    }

    /// Returns an error for options that do not go together. Costs nothing, so that it can be called
    /// before the first request.
    pub fn check(&self) -> Result<(), ExportError> {
        let unsupported = |reason: String| Err(ExportError::Unsupported(reason));
        let format = self.format.format;
        if !format.is_available() {
            return unsupported(format!(
                "this build cannot write {0}; use a released binary, or build with `--features {0}`",
                format.name()
            ));
        }
        if !format.is_text() && self.format.compression != Compression::None {
            return unsupported(format!("{} cannot be compressed once more", format.name()));
        }
        if !format.is_table() && !self.table.columns.is_empty() {
            return unsupported(format!("{} has no columns to select", format.name()));
        }
        if !format.is_table() && !self.table.column_map.is_empty() {
            return unsupported(format!("{} keeps labels as they are", format.name()));
        }
        let is_separator = |byte: u8| byte.is_ascii() && !matches!(byte, b'"' | b'\r' | b'\n' | 0);
        if let Some(delimiter) = self.delimiter.filter(|byte| !is_separator(*byte)) {
            let shown = char::from(delimiter).escape_default();
            return unsupported(format!("`{shown}` cannot separate cells; use `,`, `;` or a tab"));
        }
        Ok(())
    }
}

impl RenderOptions {
    /// Returns an error if the destination cannot be replaced: a database that another program has open.
    /// Its journal would be applied to the new file.
    pub fn check_destination(&self, destination: &Destination<'_>) -> Result<(), ExportError> {
        let Some(path) = destination.path().filter(|_| self.format.format == Format::Sqlite) else {
            return Ok(());
        };
        for suffix in ["-wal", "-journal"] {
            let mut journal = path.as_os_str().to_owned();
            journal.push(suffix);
            if std::fs::metadata(&journal).is_ok_and(|file| file.len() > 0) {
                let reason = format!(
                    "`{}` shows that a program has the database open or was killed; close it, or \
                     open the database once with `sqlite3`, or choose another name",
                    journal.display()
                );
                let source = io::Error::new(io::ErrorKind::ResourceBusy, reason);
                return Err(destination.error(Operation::Create, source));
            }
        }
        Ok(())
    }
}

/// A rendered file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered {
    /// Number of rows.
    pub rows: u64,
    /// Number of columns; 0 in formats without columns.
    pub columns: usize,
    /// Properties of the output that may surprise its reader.
    pub remarks: Vec<Remark>,
    /// Size of the output.
    pub bytes: u64,
    /// SHA-256 of the output in hexadecimal digits, on request.
    pub sha256: Option<String>,
}

/// Renders rows to a destination. A file appears under its name only when it is complete.
pub fn render(
    rows: &dyn RowSource,
    options: &RenderOptions,
    mut destination: Destination<'_>,
) -> Result<Rendered, ExportError> {
    options.check()?;
    options.check_destination(&destination)?;
    let rendering = Rendering::begin(rows, options)?;
    let mut rendered = if options.format.format.needs_file() {
        render_file(rows, options, rendering, &mut destination)?
    } else {
        render_stream(rows, options, rendering, &mut destination)?
    };
    options.check_destination(&destination)?;
    rendered.remarks.extend(destination.complete()?);
    Ok(rendered)
}

/// Writes a row and its cells.
type WriteRow<'f> = dyn FnMut(&StoredRow<'_>, Vec<Value<'_>>) -> Result<(), ExportError> + 'f;

/// A rendering after its first pass.
pub(crate) struct Rendering<'o> {
    selector: Selector<'o>,
    plan: Option<ColumnPlan>,
    rendered: Rendered,
}

impl<'o> Rendering<'o> {
    /// Collects the columns of the selected rows, unless the format has none.
    pub(crate) fn begin(
        rows: &dyn RowSource,
        options: &'o RenderOptions,
    ) -> Result<Self, ExportError> {
        let mut selector = Selector::new(options);
        if !options.format.format.is_table() {
            return Ok(Self { selector, plan: None, rendered: Rendered::default() });
        }
        let table = limit_table(options.format.format, options.table.clone());
        let mut collector = ColumnCollector::new(table);
        rows.for_each(&mut |row| {
            if selector.selects(&row)? {
                collector.observe(&row);
            }
            Ok(())
        })?;
        selector.begin_second_pass();
        let plan = collector.finish();
        let (columns, remarks) = (plan.columns().len(), remarks(&plan));
        let rendered = Rendered { columns, remarks, ..Rendered::default() };
        Ok(Self { selector, plan: Some(plan), rendered })
    }

    pub(crate) fn columns(&self) -> Vec<Column> {
        self.plan.as_ref().map_or(&[][..], ColumnPlan::columns).to_vec()
    }

    /// Calls `write` with each selected row and its cells.
    pub(crate) fn for_each(
        &mut self,
        rows: &dyn RowSource,
        write: &mut WriteRow<'_>,
    ) -> Result<(), ExportError> {
        rows.for_each(&mut |row| {
            if self.selector.selects(&row)? {
                let cells = self.plan.as_mut().map_or_else(Vec::new, |plan| plan.cells(&row));
                self.rendered.rows += 1;
                write(&row, cells)?;
            }
            Ok(())
        })
    }

    /// Checks that both passes had the same rows.
    pub(crate) fn end(mut self) -> Result<Rendered, ExportError> {
        let unplaced = self.plan.as_ref().map_or(0, ColumnPlan::unplaced);
        if self.selector.is_inconsistent() || unplaced > 0 {
            return Err(ExportError::RowsChanged);
        }
        let damaged_rows = self.plan.map_or(0, |plan| plan.damaged_rows());
        if damaged_rows > 0 {
            self.rendered.remarks.push(Remark::DamagedRows(damaged_rows));
        }
        Ok(self.rendered)
    }
}

/// Renders a format that is written from its beginning to its end.
fn render_stream(
    rows: &dyn RowSource,
    options: &RenderOptions,
    rendering: Rendering<'_>,
    destination: &mut Destination<'_>,
) -> Result<Rendered, ExportError> {
    let errors = destination.error_source();
    let failed = |error| errors.error(Operation::Write, error);
    let out = BufWriter::with_capacity(BLOCK, destination);
    let out = Counted { out, bytes: 0, digest: options.checksum.then(Sha256::new) };
    let mut out = Encoder::new(out, options.format.compression).map_err(failed)?;
    let format = stream_format(options, &mut out).map_err(failed)?;
    let mut rendered = write_rows(rows, rendering, format, &errors)?;
    let mut counted = out.finish().map_err(failed)?;
    counted.flush().map_err(failed)?;
    rendered.bytes = counted.bytes;
    rendered.sha256 = counted.digest.map(|digest| hex::encode(digest.finalize()));
    Ok(rendered)
}

/// Renders a format that needs a file: the working file, or a temporary file before a stream.
fn render_file(
    rows: &dyn RowSource,
    options: &RenderOptions,
    rendering: Rendering<'_>,
    destination: &mut Destination<'_>,
) -> Result<Rendered, ExportError> {
    let errors = destination.error_source();
    let failed = |error| errors.error(Operation::Write, error);
    let spool = match destination.working_path() {
        Some(_) => None,
        None => Some(NamedTempFile::new().map_err(spool_failed)?),
    };
    let path = match &spool {
        Some(spool) => spool.path().to_owned(),
        None => destination.working_path().expect("checked above").to_owned(),
    };
    let format = file_format(options, &path).map_err(failed)?;
    let mut rendered = write_rows(rows, rendering, format, &errors)?;
    let mut file = File::open(&path).map_err(failed)?;
    rendered.bytes = file.metadata().map_err(failed)?.len();
    let digest = options.checksum.then(Sha256::new);
    let out: &mut dyn Write = if spool.is_some() { destination } else { &mut io::sink() };
    let mut counted = Counted { out, bytes: 0, digest };
    if spool.is_some() || options.checksum {
        io::copy(&mut file, &mut counted).map_err(failed)?;
    }
    rendered.sha256 = counted.digest.map(|digest| hex::encode(digest.finalize()));
    Ok(rendered)
}

fn spool_failed(source: io::Error) -> ExportError {
    let path = Some(std::env::temp_dir());
    ExportError::Output { operation: Operation::Spool, path, source }
}

/// Writes the selected rows in a format.
fn write_rows<'f>(
    rows: &dyn RowSource,
    mut rendering: Rendering<'_>,
    mut format: Box<dyn RowFormat + 'f>,
    errors: &ErrorSource,
) -> Result<Rendered, ExportError> {
    let failed = |error| errors.error(Operation::Write, error);
    let columns = rendering.columns();
    format.begin(&columns).map_err(failed)?;
    rendering.for_each(rows, &mut |row, cells| {
        debug_assert_eq!(cells.len(), columns.len(), "a cell for each column");
        format.row(row, cells).map_err(failed)
    })?;
    let mut rendered = rendering.end()?;
    rendered.remarks.extend(format.finish().map_err(failed)?);
    Ok(rendered)
}

/// Returns the remarks about the columns.
fn remarks(plan: &ColumnPlan) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let headings = || plan.columns().iter().map(|column: &Column| &*column.heading);
    if plan.left_out() > 0 {
        remarks.push(Remark::LabelsWithoutColumn(plan.left_out()));
    }
    if !plan.missing_columns().is_empty() {
        remarks.push(Remark::MissingColumns(plan.missing_columns().to_vec()));
    }
    let folded: HashSet<String> = headings().map(str::to_lowercase).collect();
    if folded.len() < plan.columns().len() {
        remarks.push(Remark::HeadingsDifferInCase(plan.columns().len() - folded.len()));
    }
    let with_break = headings().filter(|text| text.contains(['\n', '\r'])).count();
    if with_break > 0 {
        remarks.push(Remark::HeadingsWithLineBreak(with_break));
    }
    remarks
}

/// Selects rows by filter and limit. The filter runs once per row; the second pass uses the decisions of
/// the first one.
struct Selector<'o> {
    filter: Option<&'o RowFilter>,
    limit: u64,
    decisions: Vec<bool>,
    row: usize,
    selected: u64,
    rows_of_first_pass: Option<usize>,
}

impl<'o> Selector<'o> {
    fn new(options: &'o RenderOptions) -> Self {
        Self {
            filter: options.filter.as_ref(),
            limit: options.limit.unwrap_or(u64::MAX),
            decisions: Vec::new(),
            row: 0,
            selected: 0,
            rows_of_first_pass: None,
        }
    }

    fn begin_second_pass(&mut self) {
        self.rows_of_first_pass = Some(self.row);
        (self.row, self.selected) = (0, 0);
    }

    fn selects(&mut self, row: &StoredRow<'_>) -> Result<bool, ExportError> {
        let at = self.row;
        self.row += 1;
        if self.selected == self.limit {
            return Ok(false);
        }
        let is_selected = match self.filter {
            None => true,
            Some(filter) if self.rows_of_first_pass.is_none() => {
                let decision = filter(row)
                    .map_err(|message| ExportError::Filter { id: row.id.to_owned(), message })?;
                self.decisions.push(decision);
                decision
            }
            Some(_) => self.decisions.get(at).copied().unwrap_or(false),
        };
        self.selected += u64::from(is_selected);
        Ok(is_selected)
    }

    /// Returns true if the passes had different numbers of rows.
    fn is_inconsistent(&self) -> bool {
        self.rows_of_first_pass.is_some_and(|rows| rows != self.row)
    }
}

/// Counts and hashes bytes.
struct Counted<W> {
    out: W,
    bytes: u64,
    digest: Option<Sha256>,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let count = self.out.write(buf)?;
        self.bytes += count as u64;
        if let Some(digest) = &mut self.digest {
            digest.update(&buf[..count]);
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
