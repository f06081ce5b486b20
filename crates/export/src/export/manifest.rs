//! `NAME.manifest.json`: a description of a complete export.

use formsvc_client::{Completeness, Timestamp};
use serde_json::json;

use super::{Export, Exported};
use crate::coverage::timestamp;
use crate::destination::Destination;
use crate::error::{ExportError, Operation};
use crate::format::{RenderOptions, SourceInfo};

/// Writes the range and the result of an export to a file that only its owner can read. The output is
/// complete by then, which the [operation](Operation::Manifest) of an error shows.
pub(crate) fn write_manifest(
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
    let range = export.pull.range();
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
