//! `NAME.manifest.json`: a description of a complete export.

use std::path::Path;

use formsvc_client::{Completeness, Timestamp};
use serde_json::json;

use crate::destination::{Destination, Existing};
use crate::error::ExportError;
use crate::export::{Export, Exported};
use crate::format::SourceInfo;
use crate::render::RenderOptions;

/// Writes the range and the result of an export to a file that only its owner can read.
pub(crate) fn write_manifest(
    path: &Path,
    export: &Export,
    options: &RenderOptions,
    Exported { rendered, pull, .. }: &Exported,
) -> Result<(), ExportError> {
    let complete = match pull.completeness {
        Completeness::Proven => "proven",
        Completeness::Incomplete => "no",
        _ => "unproven",
    };
    let SourceInfo { origin, form_id, title } = &options.source;
    let manifest = json!({
        "form": { "id": form_id, "title": title, "service": origin },
        "since": export.since.as_ref().map(Timestamp::as_str),
        "until": export.until.as_ref().map(Timestamp::as_str),
        "format": options.format.format.name(),
        "rows": rendered.rows,
        "columns": rendered.columns,
        "requests": pull.requests,
        "bytes": rendered.bytes,
        "sha256": rendered.sha256,
        "complete": complete,
        "missing_units": pull.overflows,
        "created_at": Timestamp::now().as_str(),
    });
    let mut destination = Destination::file(path, Existing::Replace)?.owner_only();
    destination.put(format!("{manifest:#}\n").as_bytes())?;
    destination.publish()
}
