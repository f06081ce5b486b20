//! Renders stored rows as a file, in two passes: the first one collects the columns.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::path::Path;

use formsvc_table::{Column, ColumnCollector, ColumnPlan, StoredRow, Value};
use sha2::{Digest as _, Sha256};

use crate::compress::compressed;
use crate::destination::{Destination, ErrorSource};
use crate::error::{ExportError, Operation, Unsupported};
use crate::file_format::Format;
use crate::format::{RenderOptions, RowFilter, RowFormat, file_format, limit_table, text_format};
use crate::lock::beside;
use crate::remark::Remark;
use crate::row::RowSource;
use crate::store::RowStore;

/// Bytes that are read or written at once.
pub(crate) const BLOCK: usize = 256 * 1024;

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
    /// Size of the file; 0 for a stream.
    pub bytes: u64,
    /// SHA-256 of the file in hexadecimal digits, on request.
    pub sha256: Option<String>,
}

/// Returns an error if the format needs a file and the destination is a stream, or if an SQLite file would replace
/// a database of `sync` or one with a journal. SQLite would apply that journal to the new file.
pub(crate) fn check_destination(
    options: &RenderOptions,
    destination: &Destination<'_>,
) -> Result<(), ExportError> {
    let format = options.format.format;
    if !format.is_text() && destination.working_path().is_none() {
        return Err(Unsupported::NoFile(format).into());
    }
    let Some(path) = destination.path().filter(|_| format == Format::Sqlite) else {
        return Ok(());
    };
    for suffix in ["-wal", "-journal"] {
        let journal = beside(path, suffix);
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
    if RowStore::open_read_only(path, None).is_ok_and(|store| store.has_coverage()) {
        let reason =
            "it is a database of synchronized forms, which would be lost; choose another name";
        return Err(destination.error(Operation::Create, io::Error::other(reason)));
    }
    Ok(())
}

/// Renders rows to a destination. A file appears under its name only when it is complete.
pub fn render(
    rows: &dyn RowSource,
    options: &RenderOptions,
    mut destination: Destination<'_>,
) -> Result<Rendered, ExportError> {
    options.check()?;
    check_destination(options, &destination)?;
    let rendering = Rendering::begin(rows, options)?;
    let errors = destination.error_source();
    let failed = |error| errors.error(Operation::Write, error);
    let mut rendered = match destination.working_path() {
        Some(path) if !options.format.format.is_text() => {
            let format = file_format(options, path).map_err(failed)?;
            rendering.write(rows, format, &errors)?
        }
        _ => {
            let out = BufWriter::with_capacity(BLOCK, &mut destination);
            let write = |out: &mut dyn Write| {
                let format = text_format(options, out).map_err(failed)?;
                rendering.write(rows, format, &errors)
            };
            compressed(out, options.format.compression, write, failed)?
        }
    };
    rendered.bytes = destination.size();
    if let Some(path) = destination.working_path().filter(|_| options.checksum) {
        rendered.sha256 = Some(sha256(path).map_err(failed)?);
    }
    check_destination(options, &destination)?;
    rendered.remarks.extend(destination.complete()?);
    Ok(rendered)
}

fn sha256(path: &Path) -> io::Result<String> {
    let (mut file, mut digest) = (File::open(path)?, Sha256::new());
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => return Ok(hex::encode(digest.finalize())),
            count => digest.update(&block[..count]),
        }
    }
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
        let mut selector = Selector { options, decisions: Vec::new(), rows: None };
        if !options.format.format.is_table() {
            return Ok(Self { selector, plan: None, rendered: Rendered::default() });
        }
        let table = limit_table(options.format.format, options.table.clone());
        let mut collector = ColumnCollector::new(table);
        let mut is_empty = true;
        selector.for_each(rows, &mut |row| {
            is_empty = false;
            collector.observe(row);
            Ok(())
        })?;
        let plan = collector.finish();
        let remarks = remarks(&plan, options.format.format, is_empty);
        let columns = plan.columns().len();
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
        let Self { selector, plan, rendered } = self;
        selector.for_each(rows, &mut |row| {
            rendered.rows += 1;
            write(row, plan.as_mut().map_or_else(Vec::new, |plan| plan.cells(row)))
        })
    }

    /// Checks that the columns took all answers.
    pub(crate) fn end(mut self) -> Result<Rendered, ExportError> {
        let Some(plan) = self.plan else { return Ok(self.rendered) };
        if plan.unplaced() > 0 {
            return Err(ExportError::RowsChanged);
        }
        self.rendered.remarks.extend(Remark::counted(Remark::DamagedRows, plan.damaged_rows()));
        Ok(self.rendered)
    }

    /// Writes the selected rows in a format.
    fn write<'f>(
        mut self,
        rows: &dyn RowSource,
        mut format: Box<dyn RowFormat + 'f>,
        errors: &ErrorSource,
    ) -> Result<Rendered, ExportError> {
        let failed = |error| errors.error(Operation::Write, error);
        format.begin(&self.columns()).map_err(failed)?;
        self.for_each(rows, &mut |row, cells| format.row(row, cells).map_err(failed))?;
        let mut rendered = self.end()?;
        rendered.remarks.extend(format.finish().map_err(failed)?);
        Ok(rendered)
    }
}

/// Returns the remarks about the columns.
fn remarks(plan: &ColumnPlan, format: Format, is_empty: bool) -> Vec<Remark> {
    let headings = || plan.columns().iter().map(|column: &Column| &*column.heading);
    let count = |is_counted: fn(&&str) -> bool| headings().filter(is_counted).count() as u64;
    let distinct: HashSet<String> = headings().map(str::to_lowercase).collect();
    let same = (plan.columns().len() - distinct.len()) as u64;
    let breaks = count(|heading| heading.contains(['\n', '\r']));
    let dots = if format == Format::Parquet { count(|heading| heading.contains('.')) } else { 0 };
    let (missing, unused) = (plan.missing_columns().to_vec(), plan.unused_renames());
    if is_empty {
        // The table's own columns are never missing, so that these are labels.
        let missing = missing.into_iter().map(|column| column.heading);
        let labels: Vec<String> = missing.chain(unused).collect();
        return (!labels.is_empty())
            .then_some(Remark::UncheckedLabels(labels))
            .into_iter()
            .collect();
    }
    let mut remarks = Vec::new();
    remarks.extend(Remark::counted(Remark::LabelsWithoutColumn, plan.left_out()));
    remarks.extend((!missing.is_empty()).then_some(Remark::MissingColumns(missing)));
    remarks.extend((!unused.is_empty()).then_some(Remark::UnusedRenames(unused)));
    remarks.extend(Remark::counted(Remark::HeadingsDifferInCase, same));
    remarks.extend(Remark::counted(Remark::HeadingsWithLineBreak, breaks));
    remarks.extend(Remark::counted(Remark::HeadingsWithDot, dots));
    remarks
}

/// Selects rows by filter and limit.
struct Selector<'o> {
    options: &'o RenderOptions,
    /// The decisions of the filter, which runs once per row: later passes use those of the first one.
    decisions: Vec<bool>,
    /// Number of rows of the first pass.
    rows: Option<usize>,
}

impl Selector<'_> {
    /// Calls `take` with each selected row. Returns an error if a pass has another number of rows than
    /// the first one.
    fn for_each(
        &mut self,
        rows: &dyn RowSource,
        take: &mut dyn FnMut(&StoredRow<'_>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        let limit = self.options.limit.unwrap_or(u64::MAX);
        let (mut number, mut selected) = (0, 0);
        rows.for_each(&mut |row| {
            let known = self.decisions.get(number).copied();
            number += 1;
            let is_selected = match &self.options.filter {
                _ if selected == limit => false,
                None => true,
                Some(_) if known.is_some() => known == Some(true),
                Some(filter) => {
                    self.decisions.push(apply_filter(filter, &row)?);
                    self.decisions.last() == Some(&true)
                }
            };
            selected += u64::from(is_selected);
            if is_selected { take(&row) } else { Ok(()) }
        })?;
        let is_same = *self.rows.get_or_insert(number) == number;
        if is_same { Ok(()) } else { Err(ExportError::RowsChanged) }
    }
}

/// Returns the decision of a filter.
pub(crate) fn apply_filter(filter: &RowFilter, row: &StoredRow<'_>) -> Result<bool, ExportError> {
    filter(row).map_err(|message| ExportError::Filter { id: row.id.to_owned(), message })
}
