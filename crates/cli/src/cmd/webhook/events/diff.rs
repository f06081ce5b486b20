//! `formsvc webhook events diff`

use clap::Args;

pub(in crate::cmd) use crate::webhook::kept::difference::FIELDS;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::webhook::capture::{Capture, CaptureNumber};
use crate::webhook::kept::difference::{self, Row};
use crate::webhook::kept::{get, number, some_captures};

/// Compare two recorded deliveries
///
/// Bodies that are JSON are compared by place, others by line; the order of members and how text is
/// escaped do not count. Exit 0 whether they differ or not, unless `--exit-code` is given.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo webhook events diff 1 2\n  formsvc --demo webhook events diff 2 3 --json part,path,new"
)]
pub(crate) struct Diff {
    /// The number of a capture
    #[arg(id = "capture", value_name = "A", value_parser = number)]
    old: CaptureNumber,
    /// The number of the other
    #[arg(id = "other_capture", value_name = "B", value_parser = number)]
    new: CaptureNumber,
    /// End with 1 where they differ
    #[arg(long)]
    exit_code: bool,
    /// Show signatures and secrets whole
    #[arg(long)]
    reveal: bool,
}

impl Diff {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(FIELDS)?;
        let captures = some_captures(cx).await?;
        let (old, new) = (get(&captures, self.old).await?, get(&captures, self.new).await?);
        let rows = rows(&old, &new, self.reveal);
        if cx.output.is_for_reading() {
            difference::tell(&cx.output.live()?, &rows, "")?;
        } else {
            for row in &rows {
                listing.push(row);
            }
            cx.output.list(listing)?;
        }
        if rows.is_empty() {
            cx.progress.remark("no difference");
        } else if self.exit_code {
            return Err(CliError::silent(Exit::Failed));
        }
        Ok(())
    }
}

fn rows(old: &Capture, new: &Capture, reveal: bool) -> Vec<Row> {
    let status = |capture: &Capture| {
        let outcome = capture.outcome.as_ref()?;
        Some(outcome.status.map_or_else(|| "none".to_owned(), |status| status.to_string()))
    };
    let verdict = |capture: &Capture| Some(capture.received.verdict.code.row().name.to_owned());
    let (a, b) = (&old.received, &new.received);
    let request = [
        Row::of("request", "method", Some(a.method.to_string()), Some(b.method.to_string())),
        difference::targets(&a.request_target, &b.request_target, reveal),
        Row::of("request", "verdict", verdict(old), verdict(new)),
        Row::of("request", "status", status(old), status(new)),
    ];
    let mut rows: Vec<Row> = request.into_iter().flatten().collect();
    rows.extend(difference::headers(&a.headers, &b.headers, reveal));
    rows.extend(difference::bodies(&a.body, &b.body));
    rows
}
