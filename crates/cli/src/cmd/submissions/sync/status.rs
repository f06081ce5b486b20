//! `formsvc submissions sync status`

use clap::Args;
use formsvc_export::SyncStatus;
use serde::Serialize;

use super::report::complete;
use super::{Target, open};
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
    Field::new("view"),
    Field::id("form_id").last(),
    Field::new("public_id").json_only(),
    Field::new("service").json_only(),
];

/// Show the forms of a database, and whether their submissions are complete
///
/// Makes no request. A gap is a time of which submissions were not read yet; the next sync reads them.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc submissions sync status --to sqlite:survey.db\n  formsvc submissions sync status --to sqlite:survey.db --json form,complete"
)]
pub(super) struct Status {
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Serialize)]
struct Item {
    form: String,
    submissions: u64,
    deleted: u64,
    newest: Option<String>,
    back_to: Option<String>,
    gaps: usize,
    complete: &'static str,
    view: Option<String>,
    form_id: String,
    public_id: Option<String>,
    service: String,
}

impl Status {
    pub(super) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let mut listing = cx.output.listing(&FIELDS)?;
        let store = open(cx, &self.target.read()?).await?;
        let forms = store.status().await?;
        if forms.is_empty() {
            cx.progress.remark("no forms");
        }
        for form in forms {
            listing.push(&Item::from(form));
        }
        cx.output.list(listing)
    }
}

impl From<SyncStatus> for Item {
    fn from(form: SyncStatus) -> Self {
        let intervals = form.coverage.intervals();
        let back_to = intervals.last().map(|interval| match interval.oldest() {
            Some(time) => time.to_string(),
            None => "the first submission".to_owned(),
        });
        // Also the rows before `--since` are missing.
        let complete = match intervals {
            [one] if form.coverage.is_complete_since(None) => complete(one.completeness()),
            _ => "no",
        };
        Self {
            form: form.title.unwrap_or_else(|| form.form_id.clone()),
            submissions: form.rows,
            deleted: form.deleted,
            newest: form.newest.map(|time| time.to_string()),
            back_to,
            gaps: intervals.len().saturating_sub(1),
            complete,
            view: form.view,
            form_id: form.form_id,
            public_id: form.public_id,
            service: form.origin,
        }
    }
}
