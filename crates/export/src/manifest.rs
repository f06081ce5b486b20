//! `NAME.manifest.json`: a description of a complete export.

use std::path::Path;

use formsvc_client::{Completeness, Timestamp};
use serde_json::json;

use crate::destination::{Destination, Existing};
use crate::error::ExportError;
use crate::format::SourceInfo;
use crate::pull::PullSummary;
use crate::render::Rendered;

/// The range and the result of an export.
pub(crate) struct Manifest<'a> {
    pub(crate) source: &'a SourceInfo,
    pub(crate) format: &'a str,
    pub(crate) since: Option<&'a Timestamp>,
    pub(crate) until: Option<&'a Timestamp>,
    pub(crate) pull: &'a PullSummary,
    pub(crate) rendered: &'a Rendered,
}

impl Manifest<'_> {
    /// Writes the manifest to a file that only its owner can read.
    pub(crate) fn write(&self, path: &Path) -> Result<(), ExportError> {
        let mut destination = Destination::file(path, Existing::Replace)?.owner_only();
        destination.put(self.to_json().as_bytes())?;
        destination.publish()
    }

    fn to_json(&self) -> String {
        let SourceInfo { origin, form_id, title } = self.source;
        let complete = match self.pull.completeness {
            Completeness::Proven => "proven",
            Completeness::Incomplete => "no",
            _ => "unproven",
        };
        let manifest = json!({
            "form": { "id": form_id, "title": title, "service": origin },
            "since": self.since.map(Timestamp::as_str),
            "until": self.until.map(Timestamp::as_str),
            "format": self.format,
            "rows": self.rendered.rows,
            "columns": self.rendered.columns,
            "requests": self.pull.requests,
            "bytes": self.rendered.bytes,
            "sha256": self.rendered.sha256,
            "complete": complete,
            "missing_units": self.pull.overflows,
            "created_at": Timestamp::now().as_str(),
        });
        format!("{manifest:#}\n")
    }
}
