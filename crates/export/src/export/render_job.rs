//! The rendering of an export on a blocking thread, and `NAME.manifest.json`, which describes it.

use std::sync::Weak;

use formsvc_client::{Completeness, Timestamp};
use serde_json::json;

use super::{Export, Exported};
use crate::coverage::timestamp;
use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::{RenderOptions, SourceInfo};
use crate::partition::Output;
use crate::pull::PullSummary;
use crate::row::{RowCallback, RowSource};
use crate::store::{RowRange, SqliteForm};

/// The rendering of the stored submissions.
pub(super) struct RenderJob {
    pub(super) options: RenderOptions,
    pub(super) output: Output<'static>,
    pub(super) manifest: Option<Destination<'static>>,
}

impl RenderJob {
    pub(super) fn render(
        self,
        form: &SqliteForm,
        export: &Export,
        pull: PullSummary,
        waiter: &Weak<()>,
    ) -> Result<Exported, ExportError> {
        let rows = SpooledRows { form, range: export.pull.range, waiter };
        let rendered = self.output.render(&rows, &self.options)?;
        let exported = Exported { rendered, pull, spool: None };
        if let Some(manifest) = self.manifest {
            write_manifest(manifest, export, &self.options, &exported)?;
        }
        Ok(exported)
    }
}

/// Writes the range and the result of an export to a file that only its owner can read. The output is
/// complete by then, which the [operation](Operation::Manifest) of an error shows.
fn write_manifest(
    manifest: Destination<'_>,
    export: &Export,
    options: &RenderOptions,
    Exported { rendered, pull, .. }: &Exported,
) -> Result<(), ExportError> {
    let complete = match pull.completeness {
        Completeness::Proven => "proven",
        Completeness::Incomplete => "no",
        _ => "unproven",
    };
    let range = export.pull.range;
    let SourceInfo { origin, form_id, title } = &options.source;
    let text = json!({
        "form": { "id": form_id, "title": title, "service": origin },
        "since": timestamp(range.since),
        "until": timestamp(range.until),
        "format": options.format.format.name(),
        "rows": rendered.rows,
        "columns": rendered.columns,
        "requests": pull.requests,
        "bytes": rendered.bytes,
        "sha256": rendered.sha256,
        "complete": complete,
        "missing_units": pull.left_out.units,
        "skipped": pull.left_out.items,
        "skipped_items": pull.left_out.described_items,
        "created_at": Timestamp::now().as_str(),
    });
    let mut manifest = manifest.owner_only();
    let written = manifest.put(format!("{text:#}\n").as_bytes()).and_then(|()| manifest.publish());
    written.map_err(|error| error.during(Operation::Manifest))
}

/// The rows of a spool, which no other process writes. They end with an error after the rendering was canceled.
struct SpooledRows<'a> {
    form: &'a SqliteForm,
    range: RowRange,
    /// Ends with the future that waits for the rendering.
    waiter: &'a Weak<()>,
}

impl RowSource for SpooledRows<'_> {
    fn for_each(&self, take: RowCallback<'_>) -> Result<(), ExportError> {
        let SqliteForm { store, source, .. } = self.form;
        store.read_rows(*source, self.range, &mut |row| {
            if self.waiter.strong_count() == 0 {
                // No caller waits for the error.
                return Err(ExportError::TimeLimit);
            }
            take(row)
        })
    }
}
