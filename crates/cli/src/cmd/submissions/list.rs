//! `formsvc submissions list`

use clap::Args;
use formsvc_client::{Cursor, FormHandle, PAGE_SIZE_MAX, Submission};
use formsvc_export::LeftOut;
use formsvc_protocol::FormInstant;

use super::range::{Bounds, Range};
use super::{hint_name, incomplete};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::form_ref;
use crate::output::{Field, Listing};
use crate::settings::Service;
use crate::settings::args::whole;
use crate::settings::repeat_command;

/// The fields of a submission; `data` has a column for each label.
pub(in crate::cmd) const FIELDS: [Field; 3] =
    [Field::id("id").last(), Field::time("created_at"), Field::object("data")];

/// List the newest submissions of a form
///
/// Newest first. The service does not say how many there are; on a terminal the command that
/// lists the next ones is printed at the end. Each label of the answers is a column: the 200 that
/// occur most often in a table, 2,500 in CSV and TSV, where the column `other_answers` has the rest as
/// JSON.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions list penguins\n  formsvc --demo submissions list anes96 --limit 5 --output json\n  formsvc --demo submissions list penguins --since 7d --limit 100"
)]
pub(crate) struct List {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// How many at most
    #[arg(short = 'L', long, value_name = "N", default_value_t = 30, value_parser = whole::<u32>(1..=u32::MAX.into()))]
    limit: u32,
    #[command(flatten)]
    range: Range,
    /// Only those older than this cursor or RFC 3339 instant
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
    /// Only those that follow this submission, which was made in the second before `--before`
    #[arg(long, value_name = "ID", requires = "before")]
    after: Option<String>,
    /// Where more submissions share a second or a millisecond than a page can show, or one violates the API,
    /// keep the others, name those left out and end with exit 9
    #[arg(long)]
    allow_incomplete: bool,
    /// Columns for the answers with these labels only, separated by commas; `\,` is a comma in a label
    #[arg(long, value_name = "LABELS")]
    columns: Option<String>,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        if self.columns.is_some() && !cx.output.has_columns() {
            let what =
                "`--columns` chooses columns of a table, CSV or TSV, and this output has none";
            return Err(CliError::usage(what)
                .hint("in JSON, `--json FIELDS` chooses, such as `--json id,data.LABEL`"));
        }
        let mut listing = cx.output.listing(&FIELDS)?;
        listing.lay_out_labels(self.columns.as_deref())?;
        let bounds = self.range.bounds(cx)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let handle = client.form(form.id.clone());
        let newest = self.newest(&handle, &bounds, &mut listing).await;
        let Newest { oldest, has_more, left_out } = newest.map_err(|error| self.explain(error))?;
        if listing.is_empty() {
            cx.progress.remark("no submissions");
        }
        cx.output.list(listing)?;
        // A demo service ends with this command.
        let lasts = !matches!(cx.settings.service, Service::Demo);
        if let Some(last) = oldest.filter(|_| has_more && lasts && cx.settings.terminal.stdout) {
            let mut line =
                repeat_command::Line::of(&cx.settings, &["submissions", "list", hint_name(&form)]);
            line.flag("--limit", &self.limit.to_string());
            bounds.say_again(&mut line);
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

    /// Adds what `--before` accepts to an error of the service.
    fn explain(&self, error: CliError) -> CliError {
        if error.exit == Exit::Usage && self.before.is_some() {
            error.hint_if_none("`--before` takes an RFC 3339 instant, or the cursor of a list")
        } else {
            error
        }
    }

    /// Adds the submissions to show to a listing. Only their JSON stays in memory.
    async fn newest(
        &self,
        form: &FormHandle,
        bounds: &Bounds,
        listing: &mut Listing,
    ) -> Result<Newest, CliError> {
        // Rows that are passed over are requested in whole pages.
        let passes_rows = bounds.skip_rows() || self.after.is_some();
        let page_size = if passes_rows { PAGE_SIZE_MAX } else { self.limit.min(PAGE_SIZE_MAX) };
        let list = bounds.of(form.submissions().page_size(page_size));
        let list = list.allow_incomplete(self.allow_incomplete);
        let list = match &self.before {
            Some(before) => list.start_at(Cursor::new(before.clone())),
            None => list,
        };
        let limit = self.limit as usize;
        let mut items = list.items();
        let mut after = After::new(self.after.as_deref());
        let (mut count, mut oldest, mut has_excess) = (0, None, false);
        while count < limit {
            let (rows, is_end) = match items.try_next().await? {
                Some(submission) => (after.pass(submission, limit), false),
                None => (after.not_found(), true),
            };
            has_excess = rows.len() > limit - count;
            for submission in rows.into_iter().take(limit - count) {
                listing.push(&submission);
                count += 1;
                oldest = Some(submission);
            }
            if is_end {
                break;
            }
        }
        let is_last = items.resume_token().is_finished() || bounds.were_left();
        let has_more = has_excess || count == limit && !is_last;
        let left_out = LeftOut::new(items.tie_overflows(), items.skipped(), items.skipped_count());
        Ok(Newest { oldest, has_more, left_out })
    }
}

/// The end of a list.
struct Newest {
    oldest: Option<Submission>,
    has_more: bool,
    left_out: LeftOut,
}

/// The instant above all submissions that share the second of this one. A list that continues below it
/// misses none of them, whether the service's cursors have microseconds or only seconds.
fn next_second(submission: &Submission) -> String {
    let seconds = submission.created_at.unix_micros().div_euclid(SECOND) + 1;
    FormInstant::from_micros(seconds * SECOND).to_cursor().as_str().to_owned()
}

const SECOND: i64 = 1_000_000;

/// Leaves out the submissions up to `--after`, which lies within the first second of the list. If it is
/// not there, it was deleted, and nothing of that second is left out.
#[derive(Default)]
struct After {
    id: Option<String>,
    /// The submissions before it.
    passed: Vec<Submission>,
}

impl After {
    fn new(id: Option<&str>) -> Self {
        Self { id: id.map(str::to_owned), passed: Vec::new() }
    }

    /// Takes the next submission, and returns those to show; of those before `--after` no more than
    /// `limit` are kept.
    fn pass(&mut self, submission: Submission, limit: usize) -> Vec<Submission> {
        let Some(id) = &self.id else { return vec![submission] };
        if submission.id.as_str() == id {
            *self = Self::default();
            return Vec::new();
        }
        let second = |row: &Submission| row.created_at.unix_micros().div_euclid(SECOND);
        if self.passed.first().is_some_and(|first| second(first) != second(&submission)) {
            let mut passed = self.not_found();
            passed.push(submission);
            return passed;
        }
        if self.passed.len() < limit {
            self.passed.push(submission);
        }
        Vec::new()
    }

    fn not_found(&mut self) -> Vec<Submission> {
        std::mem::take(self).passed
    }
}
