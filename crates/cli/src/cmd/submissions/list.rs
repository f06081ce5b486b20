//! `formsvc submissions list`

use clap::Args;
use formsvc_client::list::Submissions;
use formsvc_client::{Cursor, Error, FormHandle, PAGE_SIZE_MAX, Submission};
use formsvc_export::LeftOut;
use formsvc_protocol::FormInstant;

use super::range::{Bounds, Range};
use super::{incomplete, not_kept};
use crate::context::Context;
use crate::error::CliError;
use crate::form_ref;
use crate::output::{Field, Listing};
use crate::settings::Service;
use crate::settings::args::whole;
use crate::settings::repeat_command::CommandLine;

/// The fields of a submission; `data` has a column for each label.
pub(in crate::cmd) const FIELDS: [Field; 3] =
    [Field::id("id"), Field::time("created_at"), Field::object("data")];

/// List the newest submissions of a form
///
/// Newest first. On a terminal, the last line is the command that lists the next ones. Each of the 2,500 most common
/// labels of the answers is a column, and the column `other_answers` has the rest as JSON. A table leaves out columns
/// that do not fit.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions list penguins\n  formsvc --demo submissions list anes96 --limit 5 --output json\n  formsvc --demo submissions list penguins --since 7d --limit 100"
)]
pub(crate) struct List {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
    /// List N submissions at most
    #[arg(short = 'L', long, value_name = "N", default_value_t = 30, value_parser = whole::<u32>(1..=u32::MAX.into()))]
    limit: u32,
    #[command(flatten)]
    range: Range,
    /// Only submissions older than this cursor or RFC 3339 instant
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
    /// With `--before`: continue after this submission. The last line of a list has both flags
    #[arg(long, value_name = "ID", requires = "before")]
    after: Option<String>,
    /// Leave out invalid submissions, and those beyond 100 with the same time, name them, and end with exit 9
    #[arg(long)]
    allow_incomplete: bool,
    /// Columns for the answers with these labels only, separated by commas; `\,` is a comma in a label
    #[arg(long, value_name = "LABELS")]
    columns: Option<String>,
}

/// The end of a list.
struct ListEnd {
    oldest: Option<Submission>,
    has_more: bool,
    left_out: LeftOut,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.columns.is_some() && !cx.output.has_columns() {
            let what = "`--columns` selects columns of a table, CSV or TSV";
            return Err(CliError::usage(what)
                .hint("for JSON, use `--json FIELDS`, such as `--json id,data.LABEL`"));
        }
        let mut listing = cx.output.listing(&FIELDS)?;
        listing.lay_out_labels(self.columns.as_deref())?;
        let bounds = self.range.bounds(cx)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let end = self.fill(cx, &client.form(form.id.clone()), &bounds, &mut listing).await?;
        let ListEnd { oldest, has_more, left_out } = end;
        if listing.is_empty() {
            cx.progress.remark("no submissions");
        }
        cx.output.list(&listing)?;
        if let Some(last) = oldest
            && has_more
            // The service of `--demo` ends with this command.
            && !matches!(cx.settings.service, Service::Demo)
            && cx.settings.terminal.stdout
        {
            let mut line = CommandLine::new(&cx.settings, &["submissions", "list", form.name()]);
            line.flag("--limit", &self.limit.to_string());
            bounds.repeat(&mut line);
            line.maybe("--columns", self.columns.as_deref());
            line.flag("--before", &next_second(&last)).flag("--after", last.id.as_str());
            if self.allow_incomplete {
                line.switch("--allow-incomplete");
            }
            if let Some(more) = line.shown() {
                cx.progress.command("more", &more);
            }
        }
        incomplete(&left_out)
    }

    /// Adds the submissions to a listing.
    async fn fill(
        &self,
        cx: &Context,
        form: &FormHandle,
        bounds: &Bounds,
        listing: &mut Listing,
    ) -> Result<ListEnd, CliError> {
        // If submissions are skipped, more than `--limit` are read, so full pages are requested.
        let skips_rows = bounds.until.is_some() || self.after.is_some();
        let page_size = if skips_rows { PAGE_SIZE_MAX } else { self.limit.min(PAGE_SIZE_MAX) };
        let mut list = form.submissions().page_size(page_size);
        if let Some(before) = &self.before {
            list = list.start_at(Cursor::new(before.clone()));
        }
        let mut items = bounds.limit(list.allow_incomplete(self.allow_incomplete)).items();
        let limit = self.limit as usize;
        let first = match &self.after {
            Some(id) => skip_to(&mut items, id, limit).await?,
            None => Vec::new(),
        };
        let (mut first, mut oldest) = (first.into_iter(), None);
        for read in 1..=self.limit.into() {
            let next = match first.next() {
                Some(row) => Some(row),
                None => items.try_next().await?,
            };
            let Some(row) = next else { break };
            listing.try_push(&row)?;
            oldest = Some(row);
            cx.shutdown.set_saved(not_kept(read));
        }
        let has_more = first.len() > 0 || !items.is_finished();
        let left_out = LeftOut::new(items.tie_overflows(), items.skipped(), items.skipped_count());
        Ok(ListEnd { oldest, has_more, left_out })
    }
}

/// Skips rows through the one with this id, which shares its second with the first row. If it was
/// deleted, returns the submissions read so far: nothing is skipped. Of the first second, it returns at most
/// one more than `limit`.
async fn skip_to(
    items: &mut Submissions,
    id: &str,
    limit: usize,
) -> Result<Vec<Submission>, Error> {
    let second = |row: &Submission| row.created_at.unix_micros().div_euclid(SECOND);
    let mut rows: Vec<Submission> = Vec::new();
    while let Some(row) = items.try_next().await? {
        if row.id == id {
            return Ok(Vec::new());
        }
        let is_older = rows.first().is_some_and(|first| second(first) != second(&row));
        if is_older || rows.len() <= limit {
            rows.push(row);
        }
        if is_older {
            break;
        }
    }
    Ok(rows)
}

const SECOND: i64 = 1_000_000;

/// Returns the start of the second after a submission. A list that continues before this time contains all
/// submissions of that second, whether the service's cursors have microseconds or only seconds.
fn next_second(submission: &Submission) -> String {
    let seconds = submission.created_at.unix_micros().div_euclid(SECOND) + 1;
    FormInstant::from_micros(seconds * SECOND).to_cursor().as_str().to_owned()
}
