//! `formsvc submissions sync status`

use clap::Args;
use formsvc_export::SyncStatus;
use serde_json::{Value, json};

use super::{Target, open_store};
use crate::cmd::submissions::database::stored_forms;
use crate::cmd::submissions::outcome::completeness_name;
use crate::context::Context;
use crate::error::CliError;
use crate::output::Field;

/// The fields of a form in a database. On a narrow terminal the last columns of the table are left out.
pub(in crate::cmd) const FIELDS: [Field; 11] = [
    Field::new("form"),
    Field::new("submissions"),
    Field::new("deleted").last(),
    Field::time("newest").last(),
    Field::new("back_to").last(),
    Field::new("gaps").last(),
    Field::new("complete"),
    Field::id("view"),
    Field::id("form_id").last(),
    Field::new("public_id").json_only(),
    Field::new("service").json_only(),
];

/// Show the forms of a database, and whether their submissions are complete
///
/// Makes no request. A gap is a range of time with submissions that were not read yet; the next sync reads
/// them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc submissions sync status --to sqlite:survey.db\n  formsvc submissions sync status --to sqlite:survey.db --json form,complete"
)]
pub(super) struct Status {
    #[command(flatten)]
    target: Target,
}

impl Status {
    pub(super) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(&FIELDS)?;
        let store = open_store(cx, &self.target.read()?).await?;
        let forms = stored_forms(&store).await?;
        if forms.is_empty() {
            cx.progress.remark("no forms");
        }
        for form in &forms {
            listing.push(&item(form));
        }
        cx.output.list(&listing)
    }
}

/// Returns a form with the members of [`FIELDS`].
fn item(form: &SyncStatus) -> Value {
    let intervals = form.coverage.intervals();
    let back_to = intervals.last().map(|interval| match interval.oldest() {
        Some(time) => time.to_string(),
        None => "the first submission".to_owned(),
    });
    // Submissions before `--since` are missing too.
    let complete = match intervals {
        [one] if form.coverage.is_complete_since(None) => completeness_name(one.completeness()),
        _ => "no",
    };
    json!({
        "form": form.title.as_ref().unwrap_or(&form.form_id),
        "submissions": form.rows,
        "deleted": form.deleted,
        "newest": form.newest.as_ref().map(ToString::to_string),
        "back_to": back_to,
        "gaps": intervals.len().saturating_sub(1),
        "complete": complete,
        "view": form.view,
        "form_id": form.form_id,
        "public_id": form.public_id,
        "service": form.origin,
    })
}
