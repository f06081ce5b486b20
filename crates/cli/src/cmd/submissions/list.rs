//! `formsvc submissions list`

use clap::Args;
use formsvc_client::{Answers, Cursor, Submission};
use formsvc_export::{Columns, cell};

use crate::context::{Context, to_json};
use crate::error::CliError;
use crate::form_ref;
use crate::output::Listing;

/// Show the newest submissions of a form
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc --demo submissions list penguins\n  formsvc --demo submissions list anes96 --limit 5 --output json"
)]
pub(crate) struct List {
    /// The form: its id, public id, exact title, or the beginning of an id
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
        let client = cx.client().await?;
        let form = form_ref::resolve(client, &self.form).await?;
        let page_size = self.limit.min(formsvc_client::limits::PAGE_SIZE_MAX);
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
        cx.output.list(&listing(&submissions))
    }
}

fn listing(submissions: &[Submission]) -> Listing {
    let own = ["id", "created_at"];
    let mut columns = Columns::new(&own);
    let answers: Vec<_> = submissions.iter().map(|submission| submission.data.fields()).collect();
    columns.lay_out(answers.iter().map(|fields| fields.iter().map(|(label, _)| label.as_ref())));
    let names = own.iter().copied().chain(columns.names()).map(str::to_owned).collect();
    let width = columns.len();
    Listing {
        columns: names,
        rows: submissions
            .iter()
            .map(|submission| {
                let mut row = vec![submission.id.to_string(), submission.created_at.to_string()];
                row.extend(cells(&mut columns, width, &submission.data));
                row
            })
            .collect(),
        json: submissions.iter().map(to_json).collect(),
    }
}

/// The answers of one submission, each in its column.
fn cells(columns: &mut Columns, width: usize, answers: &Answers) -> Vec<String> {
    let mut cells = vec![None; width];
    let mut next = 0;
    for (label, value) in answers.fields() {
        let mut nth = 0;
        let mut column = columns.locate(&label, nth, next);
        while cells[column].is_some() {
            nth += 1;
            column = columns.locate(&label, nth, column + 1);
        }
        cells[column] = Some(cell(value).text.into_owned());
        next = column + 1;
    }
    cells.into_iter().map(Option::unwrap_or_default).collect()
}
