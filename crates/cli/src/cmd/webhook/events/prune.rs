//! `formsvc webhook events prune`

use std::time::Duration;

use clap::Args;
use formsvc_workbench::store::PruneReport;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::super::args::age;
use super::super::captures;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;
use crate::output::OutputFormat;

/// The fields of the result.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("removed"),
    Field::new("left"),
    Field::new("bytes_before"),
    Field::new("bytes_after"),
    Field::new("dry_run"),
];

/// Delete recorded deliveries (captures)
///
/// Listeners delete captures that are older than a week, and the oldest ones if all together exceed 256 MiB or the
/// invalid ones 128 MiB. Deleted captures are overwritten, their space is freed, and their numbers are not used again. In
/// a pipe, the output is one JSON object.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events prune --older-than 5m --dry-run\n  formsvc webhook events prune --all --json removed,bytes_after"
)]
pub(crate) struct Prune {
    /// Delete captures that are older than this, such as 2d or 12h
    #[arg(long, value_name = "AGE", value_parser = age, conflicts_with = "all")]
    older_than: Option<Duration>,
    /// Delete all captures
    #[arg(long)]
    all: bool,
    /// Count the captures that would be removed, and delete none
    #[arg(long)]
    dry_run: bool,
}

impl Prune {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let mut listing = output.listing(FIELDS)?;
        let before = match self.older_than {
            Some(age) => {
                let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
                Some(Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN))
            }
            None if self.all => None,
            None => {
                return Err(CliError::coded(Code::MissingArgument, "no captures are selected")
                    .hint("pass `--older-than 2d` or `--all`; `--dry-run` deletes none"));
            }
        };
        let report = match captures::open(cx).await? {
            Some(store) => store.prune(before, self.dry_run).await?,
            None => PruneReport::default(),
        };
        let PruneReport { removed, left, bytes_before, bytes_after } = report;
        listing.push(&json!({
            "removed": removed,
            "left": left,
            "bytes_before": bytes_before,
            "bytes_after": (!self.dry_run).then_some(bytes_after),
            "dry_run": self.dry_run,
        }));
        output.item(&listing)?;
        if self.dry_run {
            cx.progress.remark("nothing was deleted: --dry-run");
        }
        Ok(())
    }
}
