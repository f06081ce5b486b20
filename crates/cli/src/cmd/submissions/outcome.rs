//! Incomplete results, and the texts that the commands share.

use formsvc_client::Completeness;
use formsvc_client::event::SkippedItem;
use formsvc_client::list::SubmissionPages;
use formsvc_export::LeftOut;

pub(in crate::cmd) use crate::base::text::count as counted;
use crate::context::Context;
use crate::error::{CliError, MISSING_UNKNOWN};
use crate::exit::Exit;

/// Maximum number of items of one kind in an error.
const LISTED_MAX: usize = 20;

/// Returns the word for a completeness in output.
pub(super) fn completeness_name(completeness: Completeness) -> &'static str {
    match completeness {
        Completeness::Proven => "yes",
        Completeness::Incomplete => "no",
        _ => "unproven",
    }
}

/// Returns an error with exit 9 if a result leaves submissions out.
pub(in crate::cmd) fn incomplete(left_out: &LeftOut) -> Result<(), CliError> {
    if left_out.is_empty() {
        return Ok(());
    }
    let error = CliError::new(Exit::DataPolicy, format!("the result is incomplete: {left_out}"));
    let error = with_causes(error, &left_out.described_items, left_out.items);
    let units = left_out.units.iter().take(LISTED_MAX);
    let units: Vec<String> = units.map(|unit| format!("{unit}; {MISSING_UNKNOWN}")).collect();
    Err(with_causes(error, &units, left_out.units.len() as u64))
}

/// Returns what an interrupted command reports that has only read submissions.
pub(in crate::cmd) fn not_kept(read: u64) -> String {
    format!("{} read, none stored; use `formsvc submissions sync`", counted(read, "submission"))
}

/// Advice for a long search.
pub(super) const NEARER: &str = "`--around TIME` starts nearer";

/// Shows how far a search for a submission is, and sets the report of a signal. A slow search also prints it.
/// Returns the progress as text.
pub(in crate::cmd) fn report_search(
    cx: &Context,
    read: u64,
    oldest: &str,
    is_slow: bool,
) -> String {
    cx.progress.submissions(read, None, oldest);
    let searched = format!("{} searched, back to {oldest}", counted(read, "submission"));
    let hint = format!("{searched}; {NEARER}");
    if is_slow {
        cx.progress.remark(&hint);
    }
    cx.shutdown.set_saved(hint);
    searched
}

/// Returns an error with exit 9 if a list leaves submissions out.
pub(in crate::cmd) fn incomplete_list(pages: &SubmissionPages) -> Result<(), CliError> {
    incomplete(&LeftOut::of_pages(pages))
}

/// Adds the first items as causes, and the number of the others.
pub(in crate::cmd) fn first_causes(error: CliError, items: &[SkippedItem]) -> CliError {
    let first: Vec<String> = items.iter().take(LISTED_MAX).map(ToString::to_string).collect();
    with_causes(error, &first, items.len() as u64)
}

fn with_causes(error: CliError, causes: &[String], count: u64) -> CliError {
    let error = causes.iter().fold(error, CliError::cause);
    match count.saturating_sub(causes.len() as u64) {
        0 => error,
        more => error.cause(format!("and {more} more")),
    }
}
