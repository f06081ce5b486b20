//! `formsvc submissions exports`: unfinished exports.

use clap::{Args, Subcommand};
use formsvc_export::{ExportError, SpoolFolder, SpoolInfo};
use serde::Serialize;

use super::export::counted;
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
    Field::recent("used"),
    Field::new("size"),
    Field::new("service").json_only(),
    Field::new("command").json_only(),
];

/// List and remove unfinished exports
///
/// An export that was interrupted saves its submissions in a private database, which the same command
/// continues. It is removed when the export is complete, or after 7 days without use.
#[derive(Debug, Subcommand)]
pub(crate) enum Exports {
    List(List),
    Clean(Clean),
}

/// List unfinished exports, with the command that continues each
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc submissions exports list\n  formsvc submissions exports list --json form,submissions,command"
)]
pub(crate) struct List {}

/// Remove the saved submissions of all unfinished exports that no process uses
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc submissions exports clean\n  formsvc submissions exports clean --quiet"
)]
pub(crate) struct Clean {}

/// An unfinished export.
#[derive(Debug, Default, Serialize)]
struct Item {
    form: Option<String>,
    submissions: Option<u64>,
    newest: Option<String>,
    oldest: Option<String>,
    used: Option<String>,
    size: u64,
    state: String,
    service: Option<String>,
    command: Option<String>,
}

impl Exports {
    pub(crate) fn run(self, cx: &Context) -> Result<(), CliError> {
        let folder = cx.settings.paths.state.as_ref().map(SpoolFolder::new);
        match self {
            Self::List(_) => list(cx, folder.as_ref()),
            Self::Clean(_) => clean(cx, folder.as_ref()),
        }
    }
}

fn list(cx: &Context, folder: Option<&SpoolFolder>) -> Result<(), CliError> {
    let mut listing = cx.output.listing(&FIELDS)?;
    let spools = folder.map(SpoolFolder::list).transpose().map_err(ExportError::from)?;
    let spools = spools.unwrap_or_default();
    if spools.is_empty() {
        cx.progress.remark("no unfinished exports");
    } else if let Some(folder) = folder {
        cx.progress.remark(&format!("unfinished exports are in {}", folder.path().display()));
    }
    let items: Vec<Item> = spools.into_iter().map(Item::from).collect();
    for item in &items {
        listing.push(item);
    }
    cx.output.list(listing)?;
    // A command is too long for a column.
    for Item { form, command, .. } in &items {
        if let (Some(form), Some(command)) = (form, command) {
            cx.progress.command(&format!("continue {form} with"), command);
        }
    }
    Ok(())
}

fn clean(cx: &Context, folder: Option<&SpoolFolder>) -> Result<(), CliError> {
    let removed = folder.map(SpoolFolder::clean).transpose().map_err(ExportError::from)?;
    let removed = counted(removed.unwrap_or_default(), "unfinished export");
    cx.progress.remark(&format!("removed {removed}"));
    Ok(())
}

impl From<SpoolInfo> for Item {
    fn from(spool: SpoolInfo) -> Self {
        let used = Some(spool.modified.to_string());
        let state = if spool.in_use { "in use" } else { "saved" }.to_owned();
        let size = spool.size;
        match spool.content {
            Ok(content) => {
                let times = content.newest_and_oldest;
                let times = times.map(|(newest, oldest)| (newest.to_string(), oldest.to_string()));
                let (newest, oldest) = times.unzip();
                let form = content.title.unwrap_or(content.form_id);
                Self {
                    form: Some(form),
                    submissions: Some(content.rows),
                    newest,
                    oldest,
                    used,
                    size,
                    state,
                    service: Some(content.origin),
                    command: content.command,
                }
            }
            Err(_) => Self { used, size, state: "damaged".to_owned(), ..Self::default() },
        }
    }
}
