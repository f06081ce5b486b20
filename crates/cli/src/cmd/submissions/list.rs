//! `formsvc submissions list`

use clap::Args;
use formsvc_client::{Cursor, FormHandle, PAGE_SIZE_MAX, ResumeToken, SubmissionPage};

use super::hint_name;
use super::range::{Bounds, Range};
use crate::args::whole;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Field, Listing};
use crate::settings::Service;
use crate::{again, form_ref};

/// The fields of a submission; `data` has a column for each label.
pub(in crate::cmd) const FIELDS: [Field; 3] =
    [Field::id("id").last(), Field::time("created_at"), Field::object("data")];

/// Show the newest submissions of a form
///
/// Newest first. The service does not say how many there are; on a terminal the command for those that
/// follow is said at the end. Each label of the answers is a column: the 200 that occur most often in a
/// table, 2,500 in CSV and TSV, where the column `other_answers` has the rest as JSON.
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
        let newest = self.newest(cx, &handle, &bounds, &mut listing).await;
        let next = newest.map_err(|error| self.told(error))?;
        if listing.is_empty() {
            cx.progress.remark("no submissions");
        }
        cx.output.list(&listing)?;
        // A service that ends with this has none to go on with.
        let lasts = !matches!(cx.settings.service, Service::Demo);
        if let Some(next) = next.filter(|_| cx.settings.terminal.stdout && lasts) {
            let mut line =
                again::Line::of(&cx.settings, &["submissions", "list", hint_name(&form)]);
            line.flag("--limit", &self.limit.to_string());
            bounds.say_again(&mut line);
            line.maybe("--columns", self.columns.as_deref());
            if let Some(more) = line.flag("--before", next.as_str()).shown() {
                cx.progress.command("more", &more);
            }
        }
        Ok(())
    }

    /// A cursor is the service's to judge; what it may be is ours to say.
    fn told(&self, error: CliError) -> CliError {
        if error.exit == Exit::Usage && self.before.is_some() {
            error.hint_if_none("`--before` takes an RFC 3339 instant, or the cursor of a list")
        } else {
            error
        }
    }

    /// Adds as many as wanted to the listing. Returns the cursor of the next ones, if there are any.
    async fn newest(
        &self,
        cx: &Context,
        form: &FormHandle,
        bounds: &Bounds,
        listing: &mut Listing,
    ) -> Result<Option<Cursor>, CliError> {
        let mut left = self.limit as usize;
        let mut resume: Option<ResumeToken> = None;
        while left > 0 {
            // No page has more than is wanted, so that the list can go on after the last one. Only
            // where rows are walked past, as many are asked for as a page holds.
            let wanted = u32::try_from(left).unwrap_or(u32::MAX).min(PAGE_SIZE_MAX);
            let page_size = if bounds.skip_rows() { PAGE_SIZE_MAX } else { wanted };
            let list = bounds.of(form.submissions().page_size(page_size));
            let list = match (&resume, &self.before) {
                (Some(token), _) => list.resume_from(token.clone()),
                (None, Some(before)) => list.before(Cursor::new(before.clone())),
                (None, None) => list,
            };
            let mut pages = list.pages();
            while left > 0 && (bounds.skip_rows() || left >= page_size as usize) {
                let start = pages.resume_token();
                let Some(page) = pages.try_next().await? else { return Ok(None) };
                page.rows().take(left).for_each(|row| listing.push(&row.to_submission()));
                if page.len() > left {
                    // Only people are told how to go on.
                    let next = if cx.settings.terminal.stdout {
                        next_in(form, start, &page, left).await?
                    } else {
                        None
                    };
                    return Ok(next);
                }
                left -= page.len();
            }
            let token = pages.resume_token();
            if token.is_finished() || bounds.were_left() {
                return Ok(None);
            }
            resume = Some(token);
        }
        Ok(resume.and_then(|token| token.cursor().cloned()))
    }
}

/// Where a list goes on after the first rows of a page that began at `start`: only the service knows,
/// and says it of pages that end there.
async fn next_in(
    form: &FormHandle,
    start: ResumeToken,
    page: &SubmissionPage,
    taken: usize,
) -> Result<Option<Cursor>, CliError> {
    #[derive(serde::Deserialize)]
    struct Sent {
        data: Vec<Id>,
    }
    #[derive(serde::Deserialize)]
    struct Id {
        id: String,
    }
    let Some(last) = taken.checked_sub(1).and_then(|at| page.row(at)) else { return Ok(None) };
    let Ok(sent) = serde_json::from_str::<Sent>(page.text()) else { return Ok(None) };
    let Some(at) = sent.data.iter().position(|row| row.id == last.id()) else { return Ok(None) };
    let rows = u32::try_from(at + 1).unwrap_or(PAGE_SIZE_MAX);
    let mut pages = form.submissions().page_size(rows).resume_from(start).pages();
    let again = pages.try_next().await?;
    // Submissions that came since then have moved the end of the first page.
    let same =
        again.is_some_and(|page| page.rows().next_back().is_some_and(|r| r.id() == last.id()));
    Ok(pages.resume_token().cursor().filter(|_| same).cloned())
}
