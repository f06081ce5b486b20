//! One file per month in a folder.

use std::path::{Path, PathBuf};

use crate::destination::{Destination, Existing, WorkingFiles};
use crate::error::{ExportError, Operation};
use crate::format::{Format, RowFormat, file_format};
use crate::render::{RenderOptions, Rendered, Rendering};
use crate::row::RowSource;

/// A month of UTC: year and month.
type Month = (i16, i8);

/// Renders rows to a Parquet file per month: `FOLDER/2026-01.parquet`. All files have the same columns,
/// and appear only when all are complete. The folder is created if it is missing. `files` are the working
/// files, which a process that is about to be ended removes.
pub fn render_months(
    rows: &dyn RowSource,
    options: &RenderOptions,
    folder: &Path,
    existing: Existing,
    files: &WorkingFiles,
) -> Result<Rendered, ExportError> {
    options.check()?;
    if options.format.format != Format::Parquet {
        let name = options.format.format.name();
        return Err(ExportError::Unsupported(format!("{name} cannot be partitioned; use parquet")));
    }
    std::fs::create_dir_all(folder).map_err(|source| ExportError::Output {
        operation: Operation::Create,
        path: Some(folder.to_owned()),
        source,
    })?;
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
            let path = month_path(folder, month);
            let destination = Destination::tracked_file(&path, existing, files)?;
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
