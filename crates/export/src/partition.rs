//! Outputs of more than one file: one per month in a folder.

use std::path::{Path, PathBuf};

use crate::destination::{Destination, Existing, WorkingFiles};
use crate::error::{ExportError, Operation};
use crate::format::{Format, RowFormat, file_format};
use crate::render::{RenderOptions, Rendered, Rendering, render};
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
        let path = Some(folder.path.clone());
        let failed = |source| ExportError::Output { operation: Operation::Create, path, source };
        created.map(|()| folder).map_err(failed)
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
            Self::Single(destination) => options.check_destination(destination),
            Self::Months(_) if options.format.format == Format::Parquet => Ok(()),
            Self::Months(_) => {
                let name = options.format.format.name();
                let reason = format!("{name} has no files per month; use parquet");
                Err(ExportError::Unsupported(reason))
            }
        }
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

impl From<MonthFolder> for Output<'_> {
    fn from(folder: MonthFolder) -> Self {
        Self::Months(folder)
    }
}

fn render_months(
    rows: &dyn RowSource,
    options: &RenderOptions,
    folder: &MonthFolder,
) -> Result<Rendered, ExportError> {
    let mut rendering = Rendering::begin(rows, options)?;
    let mut complete: Vec<Destination<'static>> = Vec::new();
    let mut current: Option<(Month, Destination<'static>, Box<dyn RowFormat>)> = None;
    let columns = rendering.columns();
    let mut bytes = 0;
    let mut finish = |destination: Destination<'static>, format: Box<dyn RowFormat>| {
        let path = destination.working_path().map(Path::to_owned).unwrap_or_default();
        let size = format.finish().and_then(|_| std::fs::metadata(path));
        bytes += size.map_err(|error| destination.error(Operation::Write, error))?.len();
        complete.push(destination);
        Ok::<(), ExportError>(())
    };
    rendering.for_each(rows, &mut |row, cells| {
        let month = month(row.instant);
        if current.as_ref().is_none_or(|(open, ..)| *open != month) {
            if let Some((_, destination, format)) = current.take() {
                finish(destination, format)?;
            }
            let path = month_path(&folder.path, month);
            let destination = Destination::tracked_file(&path, folder.existing, &folder.files)?;
            let format = open_format(options, &destination, &columns)?;
            current = Some((month, destination, format));
        }
        let Some((_, destination, format)) = &mut current else { return Ok(()) };
        format.row(row, cells).map_err(|error| destination.error(Operation::Write, error))
    })?;
    if let Some((_, destination, format)) = current.take() {
        finish(destination, format)?;
    }
    let mut rendered = rendering.end()?;
    rendered.bytes = bytes;
    for destination in complete {
        rendered.remarks.extend(destination.complete()?);
    }
    Ok(rendered)
}

fn open_format(
    options: &RenderOptions,
    destination: &Destination<'_>,
    columns: &[formsvc_table::Column],
) -> Result<Box<dyn RowFormat>, ExportError> {
    let path = destination.working_path().unwrap_or(Path::new(""));
    let format = file_format(options, path).and_then(|mut format| {
        format.begin(columns)?;
        Ok(format)
    });
    format.map_err(|error| destination.error(Operation::Create, error))
}

fn month(instant: i64) -> Month {
    let date = jiff::Timestamp::from_microsecond(instant)
        .map(|time| time.to_zoned(jiff::tz::TimeZone::UTC).date());
    date.map_or((0, 0), |date| (date.year(), date.month()))
}

fn month_path(folder: &Path, (year, month): Month) -> PathBuf {
    folder.join(format!("{year:04}-{month:02}.parquet"))
}
