//! `formsvc submissions exports`: unfinished exports.

use clap::Subcommand;
use formsvc_export::{ExportError, SpoolFolder, SpoolInfo};
use indicatif::HumanBytes;
use serde_json::{Value, json};

use super::counted;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

/// The fields of an unfinished export.
pub(in crate::cmd) const FIELDS: [Field; 9] = [
    Field::new("form"),
    Field::new("submissions"),
    Field::time("oldest"),
    Field::time("newest"),
    Field::new("state"),
    Field::time("used"),
    Field::new("size"),
    Field::new("service").json_only(),
    Field::new("command").json_only(),
];

/// List and remove unfinished exports
///
/// A private database keeps the submissions of an interrupted export; repeat the export to continue it. It is removed
/// when the export is complete, or after 7 days without use.
#[derive(Debug, Subcommand)]
pub(crate) enum Exports {
    /// List unfinished exports, with the command that continues each
    #[command(
        after_help = "Examples:\n  formsvc submissions exports list\n  formsvc submissions exports list --json form,submissions,command"
    )]
    List,
    /// Remove the saved submissions of all unfinished exports that no process uses
    #[command(
        after_help = "Examples:\n  formsvc submissions exports clean\n  formsvc submissions exports clean --quiet"
    )]
    Clean,
}

impl Exports {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let folder = cx.settings.paths.state.as_ref().map(SpoolFolder::new);
        match self {
            Self::List => list(cx, folder.as_ref()),
            Self::Clean => {
                let removed = folder.as_ref().map_or(Ok(0), SpoolFolder::clean);
                let removed = removed.map_err(ExportError::from)?;
                cx.progress.remark(&format!("removed {}", counted(removed, "unfinished export")));
                Ok(())
            }
        }
    }
}

fn list(cx: &Context, folder: Option<&SpoolFolder>) -> Result<(), CliError> {
    let mut listing = cx.output.listing(&FIELDS)?;
    let spools = folder.map_or(Ok(Vec::new()), SpoolFolder::list).map_err(ExportError::from)?;
    if spools.is_empty() {
        cx.progress.remark("no unfinished exports");
    } else if let Some(folder) = folder {
        cx.progress.remark(&format!("unfinished exports are in {}", folder.path().display()));
    }
    for spool in &spools {
        listing.push(&item(spool, cx.output.is_for_reading()));
    }
    cx.output.list(&listing)?;
    // A command is too long for a column.
    for content in spools.iter().filter_map(|spool| spool.content.as_ref().ok()) {
        if let Some(command) = &content.command {
            let form = content.title.as_ref().unwrap_or(&content.form_id);
            cx.progress.command(&format!("continue {form} with"), command);
        }
    }
    Ok(())
}

/// Returns an unfinished export with the members of [`FIELDS`]. The size is a number of bytes, or text for
/// reading.
fn item(spool: &SpoolInfo, is_for_reading: bool) -> Value {
    let size = spool.size;
    let size = if is_for_reading { json!(HumanBytes(size).to_string()) } else { json!(size) };
    let used = spool.modified.as_str();
    let state = if spool.in_use { "in use" } else { "saved" };
    let Ok(content) = &spool.content else {
        return json!({ "used": used, "size": size, "state": "damaged" });
    };
    let times = content.newest_and_oldest.as_ref();
    json!({
        "form": content.title.as_ref().unwrap_or(&content.form_id),
        "submissions": content.rows,
        "newest": times.map(|(newest, _)| newest.to_string()),
        "oldest": times.map(|(_, oldest)| oldest.to_string()),
        "used": used,
        "size": size,
        "state": state,
        "service": content.origin,
        "command": content.command,
    })
}
