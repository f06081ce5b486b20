//! `formsvc submissions view`

use clap::Args;
use formsvc_client::{Cursor, Submission, SubmissionId};
use indicatif::HumanCount;

use super::incomplete_list;
use super::list::FIELDS;
use crate::account::key::{KEY_PREFIX, KEY_TYPED, unless_a_key};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::form_ref;
use crate::output::OutputFormat;
use crate::output::{Detail, Listing, Output};

/// Show one submission with all its answers
///
/// The service gives lists only, so the form is read from its newest submission on until this one is
/// found; `--before` begins deeper. In a pipe it is JSON, exactly as the service sent it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc submissions view penguins sub_0198e1f2 --before 2026-03-01T00:00:00Z\n  formsvc submissions view contact sub_0198e1f2 --output json"
)]
pub(crate) struct View {
    /// The form: its id, public id, exact title, or the beginning of either id
    form: String,
    /// The submission's id, whole
    id: SubmissionId,
    /// Begin at this cursor or RFC 3339 instant instead of at the newest
    #[arg(long, value_name = "CURSOR")]
    before: Option<String>,
}

impl View {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let listing = output.listing(&FIELDS)?;
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        // Another submission that violates the API does not matter.
        let mut list = client.form(form.id).submissions().allow_incomplete(true);
        if let Some(before) = &self.before {
            list = list.start_at(Cursor::new(before.clone()));
        }
        cx.progress.begin();
        let (mut pages, mut looked, mut reached) = (list.pages(), 0, None);
        while let Some(page) = pages.try_next().await? {
            if let Some(found) = page.submissions().iter().find(|row| row.id == self.id) {
                cx.progress.end();
                return show(&output, listing, found);
            }
            if let Some(item) =
                page.skipped().iter().find(|item| item.id() == Some(self.id.as_str()))
            {
                let what = format!("the submission `{}` violates the API", self.id);
                return Err(CliError::coded(Code::BadAnswer, what).cause(item.to_string()));
            }
            looked += page.len() as u64;
            if let Some(last) = page.submissions().last() {
                cx.progress.submissions(looked, last.created_at.as_str());
                reached = Some(last.created_at.as_str().to_owned());
            }
        }
        // The submission could be one that the list leaves out.
        incomplete_list(&pages).map_err(|error| error.hint("the submission may be one of them"))?;
        Err(self.missing(looked, reached.as_deref()))
    }

    /// It is not there, and how far was looked.
    fn missing(&self, looked: u64, reached: Option<&str>) -> CliError {
        let Self { form, id, before } = self;
        let from = before.as_ref().map_or(String::new(), |at| format!(" before {at}"));
        let looked = match reached {
            Some(oldest) => format!("none of the {}{from}, back to {oldest}", HumanCount(looked)),
            None => format!("there are none{from}"),
        };
        let Some(id) = unless_a_key(id.as_str()) else {
            let what = format!("no submission `{KEY_PREFIX}…`, which is an API key: {looked}");
            return CliError::new(Exit::NotFound, what).hint(KEY_TYPED);
        };
        let what = format!("no submission `{id}` in the form `{form}`: {looked}");
        let error = CliError::new(Exit::NotFound, what);
        if before.is_some() {
            error.hint("without --before it is looked for from the newest on")
        } else {
            error.hint("an id is given whole, as `formsvc submissions list` shows it")
        }
    }
}

fn show(output: &Output, mut listing: Listing, submission: &Submission) -> Result<(), CliError> {
    if !output.is_for_reading() {
        listing.lay_out_labels(None)?;
        listing.push(submission);
        return output.item(&listing);
    }
    let fields = submission.data.fields();
    let answers = fields
        .iter()
        .map(|(label, value)| (label.clone(), formsvc_table::cell(value.as_json()).text))
        .collect();
    let own = vec![("id", submission.id.as_str()), ("created_at", submission.created_at.as_str())];
    output.detail(&Detail { own, answers })
}
