//! `formsvc submissions list`

use clap::Args;
use formsvc_client::{AnswerPlace, Cursor, Literals, Submission};
use formsvc_export::{Cell, Columns, Places, cell};

use crate::context::Context;
use crate::error::CliError;
use crate::form_ref;
use crate::output::{Field, Listing};

/// The fields of a submission; `data` has a column for each label.
const FIELDS: [Field; 3] =
    [Field::new("id").last(), Field::time("created_at"), Field::object("data")];

/// Show the newest submissions of a form
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions list penguins\n  formsvc --demo submissions list anes96 --limit 5 --output json"
)]
pub(crate) struct List {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// How many at most
    #[arg(short = 'L', long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Only those older than this cursor or RFC 3339 instant
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
}

impl List {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(&FIELDS)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        let page_size = self.limit.min(formsvc_client::PAGE_SIZE_MAX);
        let mut list = client.form(form.id).submissions().page_size(page_size);
        if let Some(before) = self.before {
            list = list.before(Cursor::new(before));
        }
        let (mut items, mut submissions) = (list.items(), Vec::new());
        while submissions.len() < self.limit as usize {
            let Some(submission) = items.try_next().await? else { break };
            submissions.push(submission);
        }
        if submissions.is_empty() {
            cx.progress.remark("no submissions");
        }
        fill(&mut listing, &submissions);
        cx.output.list(&listing)
    }
}

/// Lays the answers out in columns behind the fields.
fn fill(listing: &mut Listing, submissions: &[Submission]) {
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
