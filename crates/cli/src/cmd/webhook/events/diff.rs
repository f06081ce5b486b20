//! `formsvc webhook events diff`

use std::borrow::Cow;

use clap::Args;
use formsvc_workbench::compare::{self, Difference};
use formsvc_workbench::delivery::CaptureNumber;

use super::super::args::capture_number;
use super::super::captures;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Detail, Field};

/// The fields of a difference.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("part"),
    Field::new("path"),
    Field::new("change"),
    Field::new("old"),
    Field::new("new"),
];

/// Compare two recorded deliveries
///
/// JSON bodies are compared value by value; if only the order of members, escapes or white space differ, one line
/// reports it. Other bodies are compared by line. Exits with 0 even if they differ, unless `--exit-code` is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events diff 1 2\n  formsvc --demo webhook events diff 2 3 --json part,path,new"
)]
pub(crate) struct Diff {
    /// Number of the old delivery
    #[arg(id = "capture", value_name = "A", value_parser = capture_number)]
    old: CaptureNumber,
    /// Number of the new delivery
    #[arg(id = "other_capture", value_name = "B", value_parser = capture_number)]
    new: CaptureNumber,
    /// Exit with 1 if they differ
    #[arg(long)]
    exit_code: bool,
    /// Do not mask signatures and secrets
    #[arg(long)]
    reveal: bool,
}

impl Diff {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let store = captures::require(cx).await?;
        let old = captures::get(&store, self.old).await?;
        let new = captures::get(&store, self.new).await?;
        let differences = compare::deliveries(&old, &new, self.reveal);
        if cx.output.is_for_reading() {
            let answers = differences.iter().map(lines).collect();
            cx.output.detail(&Detail { own: Vec::new(), answers })?;
        } else {
            for difference in &differences {
                listing.push(difference);
            }
            cx.output.list(&listing)?;
        }
        if differences.is_empty() {
            cx.progress.remark("no difference");
        } else if self.exit_code {
            return Err(CliError::silent(Exit::Failed));
        }
        Ok(())
    }
}

/// Formats a difference for people: its path, then the lines of its old and of its new value.
fn lines(difference: &Difference) -> (Cow<'static, str>, Cow<'static, str>) {
    let Difference { part, path, old, new, .. } = difference;
    let values = [("- ", old), ("+ ", new)];
    let lines = values.iter().flat_map(|(sign, value)| {
        value.iter().flat_map(|value| value.split('\n')).map(move |line| format!("{sign}{line}\n"))
    });
    (format!("{part:?} {path}").into(), lines.collect::<String>().into())
}
