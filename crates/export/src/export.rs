//! Pages in, an output out.

use std::path::Path;

use formsvc_client::{SubmissionPages, SubmissionQuery};

use crate::error::ExportError;
use crate::format::Format;
use crate::old::{Options, RecordWriter, Written, writer};
use crate::{Destination, Existing};

/// How far an export has come, told after each page.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Progress<'a> {
    /// Submissions written so far.
    pub submissions: u64,
    /// `created_at` of the oldest one so far.
    pub reached: &'a str,
}

/// Writes every submission the pages give, then completes the output.
///
/// Dropping the future leaves nothing behind that looks complete.
pub async fn export(
    mut pages: SubmissionPages,
    mut writer: Box<dyn RecordWriter + '_>,
    mut on_progress: impl FnMut(Progress<'_>),
) -> Result<Written, ExportError> {
    let mut submissions = 0;
    while let Some(page) = pages.try_next().await? {
        let rows = page.submissions();
        writer.write(rows)?;
        submissions += rows.len() as u64;
        if let Some(last) = rows.last() {
            on_progress(Progress { submissions, reached: last.created_at.as_str() });
        }
    }
    let written = writer.finish()?;
    Ok(Written {
        completeness: pages.completeness(),
        tie_overflows: pages.tie_overflows().to_vec(),
        ..written
    })
}

/// Writes every submission of a query to a CSV file, with the formula guard. The file appears when it
/// is complete, and then replaces an existing one.
pub async fn export_csv(
    query: SubmissionQuery,
    path: impl AsRef<Path>,
) -> Result<Written, ExportError> {
    let destination = Destination::file(path.as_ref(), Existing::Replace)?;
    let options = Options { format: Format::Csv, formula_guard: true };
    export(query.pages(), writer(destination, options)?, |_| {}).await
}
