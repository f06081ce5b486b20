//! `formsvc webhook events prune`

use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::args::OutputFormat;
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::output::Field;
use crate::webhook::kept;
use crate::webhook::store::{Pruned, age};

/// The fields of what was removed.
pub(in crate::cmd) const FIELDS: &[Field] = &[
    Field::new("removed"),
    Field::new("left"),
    Field::new("bytes_before"),
    Field::new("bytes_after"),
    Field::new("dry_run").json_only(),
];

/// The same for a person, of what was not removed.
const WOULD_BE: &[Field] =
    &[Field::new("would_be_removed"), Field::new("would_be_left"), Field::new("bytes_before")];

/// Delete recorded deliveries
///
/// Listeners remove what is older than a week, or over 256 MiB, by themselves. What is removed is
/// overwritten and its room given back; numbers are not used again. In a pipe it is one JSON object.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events prune --older-than 5m --dry-run\n  formsvc webhook events prune --all --json removed,bytes_after"
)]
pub(crate) struct Prune {
    /// Those that came longer ago, such as 2d or 12h
    #[arg(long, value_name = "AGE", value_parser = age, conflicts_with = "all")]
    older_than: Option<Duration>,
    /// All of them
    #[arg(long)]
    all: bool,
    /// Say how many there are, and remove none
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Row {
    removed: u64,
    left: u64,
    bytes_before: u64,
    bytes_after: Option<u64>,
    dry_run: bool,
}

#[derive(Serialize)]
struct Forecast {
    #[serde(rename = "would_be_removed")]
    removed: u64,
    #[serde(rename = "would_be_left")]
    left: u64,
    bytes_before: u64,
}

impl Prune {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let in_words = self.dry_run && output.is_for_reading();
        let mut listing = output.listing(if in_words { WOULD_BE } else { FIELDS })?;
        let before = match (self.older_than, self.all) {
            (Some(age), _) => {
                let age = SignedDuration::try_from(age).unwrap_or(SignedDuration::MAX);
                Some(Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN))
            }
            (None, true) => None,
            (None, false) => {
                return Err(CliError::coded(Code::MissingArgument, "which captures?")
                    .hint("`--older-than 2d`, or `--all`; with `--dry-run` none is removed"));
            }
        };
        let pruned = match kept::store(cx).await? {
            Some(store) => store.prune(before, self.dry_run).await?,
            None => Pruned::default(),
        };
        if in_words {
            listing.push(&Forecast {
                removed: pruned.removed,
                left: pruned.left,
                bytes_before: pruned.bytes_before,
            });
        } else {
            listing.push(&Row {
                removed: pruned.removed,
                left: pruned.left,
                bytes_before: pruned.bytes_before,
                bytes_after: (!self.dry_run).then_some(pruned.bytes_after),
                dry_run: self.dry_run,
            });
        }
        output.item(&listing)?;
        if self.dry_run {
            cx.progress.remark("nothing was removed: --dry-run");
        }
        Ok(())
    }
}
