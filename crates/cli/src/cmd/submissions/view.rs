//! `formsvc submissions view`

use std::time::Duration;

use clap::Args;
use formsvc_client::event::SkippedItem;
use formsvc_client::{Cursor, Submission, SubmissionId};
use formsvc_export::{ExportError, RowRange, RowSource as _};
use formsvc_workbench::simulate::SILENT_REQUESTS;

use super::database::{Database, DatabaseSource, check_stored};
use super::export::stored_json;
use super::list::FIELDS;
use super::outcome::{NEARER, incomplete_list, report_search};
use crate::account::key::{KEY_PREFIX, KEY_TYPED, unless_a_key};
use crate::base::when::{When, now};
use crate::context::Context;
use crate::error::{CliError, Code};
use crate::exit::Exit;
use crate::form_ref;
use crate::output::{Detail, Listing, Output, OutputFormat};
use crate::settings::args::duration;

/// Show one submission with all its answers
///
/// The service has only lists, so the form is read from its newest submission back to this one. `--around`
/// starts nearer, and `--from` reads a database without a request. In a pipe the output is JSON, exactly as
/// the service sent it.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc submissions view penguins sub_0198e1f2 --around today\n  formsvc submissions view contact sub_0198e1f2 --output json\n  formsvc submissions view contact sub_0198e1f2 --from sqlite:contact.db"
)]
pub(crate) struct View {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
    /// The full id of the submission
    id: SubmissionId,
    /// Read back from the end of this day, or from just after this time, instead of from now
    #[arg(long, value_name = "WHEN", conflicts_with = "from")]
    around: Option<When>,
    /// Stop after this time with exit 8
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    max_time: Option<Duration>,
    #[command(flatten)]
    source: DatabaseSource,
}

impl View {
    pub(crate) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let output = cx.output.piped_as(OutputFormat::Ndjson);
        let listing = output.listing(&FIELDS)?;
        let find = async {
            match self.source.open(cx).await? {
                Some(database) => self.find_stored(cx, &database).await,
                None => self.find(cx).await,
            }
        };
        let found = cx.until(cx.deadline(self.max_time), find).await?;
        show(&output, listing, &found)
    }

    /// Finds the submission in the service.
    async fn find(&self, cx: &Context) -> Result<Submission, CliError> {
        let client = cx.client().await?;
        let form = form_ref::resolve(cx, &self.form).await?;
        // Other submissions that violate the API do not matter.
        let mut list = client.form(form.id).submissions().allow_incomplete(true);
        if let Some(around) = &self.around {
            let end = around
                .end(&now())
                .map_err(|rule| CliError::usage(format!("the time of `--around` {rule}")))?;
            list = list.start_at(Cursor::new(end.as_str()));
        }
        cx.progress.begin();
        cx.shutdown.set_saved(format!("no submission was read; {NEARER}"));
        let (mut pages, mut requests, mut read) = (list.pages(), 0, 0);
        let mut searched = String::new();
        while let Some(page) = pages.try_next().await? {
            if let Some(found) = page.submissions().iter().find(|row| row.id == self.id) {
                cx.progress.end();
                return Ok(found.clone());
            }
            let is_wanted = |item: &&SkippedItem| item.id() == Some(self.id.as_str());
            if let Some(item) = page.skipped().iter().find(is_wanted) {
                let what = format!("the submission `{}` violates the API", self.id);
                return Err(CliError::coded(Code::BadAnswer, what).cause(item.to_string()));
            }
            requests += 1;
            read += page.len() as u64;
            let Some(end) = page.submissions().last() else { continue };
            let oldest = end.created_at.as_str();
            let is_slow = requests == SILENT_REQUESTS && !pages.is_finished();
            searched = report_search(cx, read, oldest, is_slow);
        }
        // The submission may be one that the list leaves out.
        incomplete_list(&pages).map_err(|error| error.hint("the submission may be one of them"))?;
        Err(self.missing(if searched.is_empty() { "there are none" } else { &searched }))
    }

    /// Finds the submission in a database.
    async fn find_stored(&self, cx: &Context, database: &Database) -> Result<Submission, CliError> {
        let form = database.find(&self.form)?;
        let range = RowRange::default().include_deleted(true);
        let rows = database.rows(cx, form, range).await?;
        let mut found = None;
        let result = rows.for_each(&mut |row| {
            if row.id == self.id.as_str() {
                found = Some(stored_json(&row));
                return Err(ExportError::ReaderClosed);
            }
            Ok(())
        });
        let Some(json) = found else {
            result?;
            check_stored(&rows, form)?;
            return Err(self.missing("the database does not contain it"));
        };
        serde_json::from_str(&json).map_err(|error| {
            let what = format!("the stored submission `{}` is damaged", self.id);
            CliError::new(Exit::LocalIo, what).because(&error)
        })
    }

    /// Returns the error for a submission that was not found.
    fn missing(&self, reason: &str) -> CliError {
        let Some(id) = unless_a_key(self.id.as_str()) else {
            let what = format!("no submission `{KEY_PREFIX}…`, which is an API key");
            return CliError::new(Exit::NotFound, what).hint(KEY_TYPED);
        };
        let what = format!("no submission `{id}` in the form `{}`: {reason}", self.form);
        CliError::new(Exit::NotFound, what).hint(match self.around {
            Some(_) => "without `--around`, newer submissions are searched too",
            None => "use the full id, as `formsvc submissions list` shows it",
        })
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
