//! `formsvc submissions list`

use clap::Args;
use formsvc_client::{
    AnswerPlace, Cursor, FormHandle, Literals, PAGE_SIZE_MAX, ResumeToken, Row, Submission,
};
use formsvc_export::{Cell, Columns, Places, cell};

use super::hint_name;
use super::range::{Bounds, Range};
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Field, Listing};
use crate::{again, form_ref};

/// The fields of a submission; `data` has a column for each label.
pub(in crate::cmd) const FIELDS: [Field; 3] =
    [Field::id("id").last(), Field::time("created_at"), Field::object("data")];

/// Show the newest submissions of a form
///
/// Newest first. The service does not say how many there are; on a terminal the command for those that
/// follow is said at the end.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions list penguins\n  formsvc --demo submissions list anes96 --limit 5 --output json\n  formsvc --demo submissions list penguins --since 7d --limit 100"
)]
pub(crate) struct List {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// How many at most
    #[arg(short = 'L', long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    #[command(flatten)]
    range: Range,
    /// Only those older than this cursor or RFC 3339 instant
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(&FIELDS)?;
        let bounds = self.range.bounds(cx)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let handle = client.form(form.id.clone());
        let (submissions, next) =
            self.newest(&handle, &bounds).await.map_err(|error| self.told(error))?;
        if submissions.is_empty() {
            cx.progress.remark("no submissions");
        }
        fill(&mut listing, &submissions);
        cx.output.list(&listing)?;
        if let Some(next) = next.filter(|_| cx.settings.terminal.stdout) {
            let mut line =
                again::Line::of(&cx.settings, &["submissions", "list", hint_name(&form)]);
            line.flag("--limit", &self.limit.to_string());
            bounds.say_again(&mut line);
            if let Some(more) = line.flag("--before", next.as_str()).shown() {
                cx.progress.remark(&format!("more: {more}"));
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

    /// As many as wanted, and where the next ones begin, if there are any.
    async fn newest(
        &self,
        form: &FormHandle,
        bounds: &Bounds,
    ) -> Result<(Vec<Submission>, Option<Cursor>), CliError> {
        let (mut submissions, mut left) = (Vec::new(), self.limit as usize);
        let mut resume: Option<ResumeToken> = None;
        while left > 0 {
            // No page has more than is wanted, so that the list can go on after the last one.
            let page_size =
                self.limit.min(PAGE_SIZE_MAX).min(u32::try_from(left).unwrap_or(u32::MAX));
            let list = bounds.of(form.submissions().page_size(page_size));
            let list = match (&resume, &self.before) {
                (Some(token), _) => list.resume_from(token.clone()),
                (None, Some(before)) => list.before(Cursor::new(before.clone())),
                (None, None) => list,
            };
            let mut pages = list.pages();
            while left >= page_size as usize {
                let Some(page) = pages.try_next().await? else { return Ok((submissions, None)) };
                left -= page.len();
                submissions.extend(page.rows().map(Row::to_submission));
            }
            let token = pages.resume_token();
            if token.is_finished() || bounds.were_left() {
                return Ok((submissions, None));
            }
            resume = Some(token);
        }
        Ok((submissions, resume.and_then(|token| token.cursor().cloned())))
    }
}

/// Lays the answers out in columns behind the fields.
pub(super) fn fill(listing: &mut Listing, submissions: &[Submission]) {
    let own = FIELDS.map(|field| field.name);
    let answers: Vec<_> = submissions.iter().map(|submission| submission.data.fields()).collect();
    let labels = answers.iter().map(|fields| fields.iter().map(|(label, _)| label.as_ref()));
    let mut places = Places::new(Columns::lay_out(&own[..2], labels));
    for submission in submissions {
        listing.push_with(submission, row(&mut places, submission));
    }
    listing.more_columns(places.columns().names());
}

fn row(places: &mut Places, submission: &Submission) -> Vec<Cell<'static>> {
    let mut cells = Vec::new();
    let answers = submission.data.as_json();
    let found = AnswerPlace::of(answers).expect("answers are a JSON object");
    places.place(Literals::new(answers, &found), &mut cells);
    cells
        .into_iter()
        .map(|value| cell(value.map_or("null", |value| value.text)).into_owned())
        .collect()
}
