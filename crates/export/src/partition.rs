//! Outputs of more than one file: one per month in a folder.

use std::path::{Path, PathBuf};

use formsvc_table::Column;

use crate::destination::{Destination, Existing, WorkingFiles};
use crate::error::{ExportError, Operation, Unsupported};
use crate::file_format::Format;
use crate::format::{RenderOptions, RowFormat, file_format};
use crate::render::{Rendered, Rendering, check_destination, render};
use crate::row::RowSource;

/// A month of UTC: year and month.
type Month = (i16, i8);

/// The output of an export.
pub enum Output<'a> {
    /// A file or a stream.
    Single(Destination<'a>),
    /// A folder with a Parquet file per month.
    Months(MonthFolder),
}

/// A folder with a Parquet file per month of UTC: `FOLDER/2026-01.parquet`. All files have the same columns,
/// and appear only when all are complete. Files of other months stay.
#[derive(Clone, Debug)]
pub struct MonthFolder {
    path: PathBuf,
    existing: Existing,
    files: WorkingFiles,
}

impl MonthFolder {
    /// Creates the folder if it is missing.
    pub fn create(path: impl Into<PathBuf>, existing: Existing) -> Result<Self, ExportError> {
        let folder = Self { path: path.into(), existing, files: WorkingFiles::default() };
        let created = std::fs::create_dir_all(&folder.path);
        let failed = |source| ExportError::output(Operation::Create, Some(&folder.path), source);
        created.map_err(failed)?;
        Ok(folder)
    }

    /// Returns the files to remove when a signal ends the process.
    pub fn working_files(&self) -> WorkingFiles {
        self.files.clone()
    }
}

impl Output<'_> {
    /// Returns an error if the options do not fit the output. Costs nothing.
    pub(crate) fn check(&self, options: &RenderOptions) -> Result<(), ExportError> {
        options.check()?;
        match self {
            Self::Single(destination) => check_destination(options, destination),
            Self::Months(_) if options.format.format == Format::Parquet => Ok(()),
            Self::Months(_) => Err(Unsupported::Months(options.format.format).into()),
        }
    }

    /// Opens another file with the same treatment of an existing one, removed by the same signal.
    pub(crate) fn open_beside(&self, path: &Path) -> Result<Destination<'static>, ExportError> {
        let (existing, files) = match self {
            Self::Single(destination) => (destination.existing, destination.working_files()),
            Self::Months(folder) => (folder.existing, folder.working_files()),
        };
        Destination::tracked_file(path, existing, &files)
    }

    /// Renders rows to the output.
    pub fn render(
        self,
        rows: &dyn RowSource,
        options: &RenderOptions,
    ) -> Result<Rendered, ExportError> {
        self.check(options)?;
        match self {
            Self::Single(destination) => render(rows, options, destination),
            Self::Months(folder) => render_months(rows, options, &folder),
        }
    }
}

impl<'a> From<Destination<'a>> for Output<'a> {
    fn from(destination: Destination<'a>) -> Self {
        Self::Single(destination)
    }
}

/// The file of a month while it is written.
struct MonthFile {
    month: Month,
    destination: Destination<'static>,
    format: Box<dyn RowFormat>,
}

impl MonthFile {
    fn create(
        folder: &MonthFolder,
        (year, month): Month,
        options: &RenderOptions,
        columns: &[Column],
    ) -> Result<Self, ExportError> {
        let path = folder.path.join(format!("{year:04}-{month:02}.parquet"));
        let destination = Destination::tracked_file(&path, folder.existing, &folder.files)?;
        let failed = |error| destination.error(Operation::Create, error);
        let work = destination.working_path().unwrap_or(&path);
        let mut format = file_format(options, work).map_err(failed)?;
        format.begin(columns).map_err(failed)?;
        Ok(Self { month: (year, month), destination, format })
    }

    /// Writes the end of the file to the disk, under its temporary name.
    fn finish(self) -> Result<Destination<'static>, ExportError> {
        let written = self.format.finish().and_then(|_| self.destination.sync());
        written.map_err(|error| self.destination.error(Operation::Write, error))?;
        Ok(self.destination)
    }
}

fn render_months(
    rows: &dyn RowSource,
    options: &RenderOptions,
    folder: &MonthFolder,
) -> Result<Rendered, ExportError> {
    let mut rendering = Rendering::begin(rows, options)?;
    let columns = rendering.columns();
    let mut complete: Vec<Destination<'static>> = Vec::new();
    let mut current: Option<MonthFile> = None;
    rendering.for_each(rows, &mut |row, cells| {
        let month = month(row.instant);
        if current.as_ref().is_none_or(|file| file.month != month) {
            complete.extend(current.take().map(MonthFile::finish).transpose()?);
            current = Some(MonthFile::create(folder, month, options, &columns)?);
        }
        let Some(file) = &mut current else { return Ok(()) };
        let written = file.format.row(row, cells);
        written.map_err(|error| file.destination.error(Operation::Write, error))
    })?;
    complete.extend(current.map(MonthFile::finish).transpose()?);
    let mut rendered = rendering.end()?;
    let mut operation = Operation::Publish;
    for destination in complete {
        rendered.bytes += destination.size();
        let remarks = destination.complete().map_err(|error| error.during(operation))?;
        rendered.remarks.extend(remarks);
        operation = Operation::PublishNext;
    }
    Ok(rendered)
}

fn month(instant: i64) -> Month {
    // Does not use `jiff::Timestamp`, which ends a day before the year 9999 does.
    let days = jiff::Span::new().try_days(instant.div_euclid(24 * 60 * 60 * 1_000_000));
    let date = days.and_then(|days| jiff::civil::date(1970, 1, 1).checked_add(days));
    date.map_or((0, 0), |date| (date.year(), date.month()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn month_is_that_of_utc_in_far_years_too() {
        assert_eq!(month(-62_135_596_800_000_000), (1, 1));
        assert_eq!(month(253_402_300_799_999_999), (9999, 12));
    }
}
