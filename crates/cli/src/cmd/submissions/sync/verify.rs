//! `formsvc submissions sync verify`

use clap::Args;
use formsvc_client::Completeness;
use formsvc_export::{PullProgress, VerifyOptions, VerifySummary};
use serde_json::json;
use tokio::time::Instant;

use super::report::{remark_changes, remark_log};
use super::run::sync_form;
use super::{RequestFlags, Target, find_form, open_store};
use crate::cmd::submissions::export::explain_stopped;
use crate::cmd::submissions::outcome::completeness_name;
use crate::cmd::submissions::{counted, incomplete};
use crate::context::{Context, remaining};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Field;

/// The fields of a verified form.
pub(in crate::cmd) const FIELDS: [Field; 9] = [
    Field::new("form"),
    Field::new("submissions"),
    Field::new("missing"),
    Field::new("changed"),
    Field::new("restored"),
    Field::new("deleted"),
    Field::new("marked"),
    Field::new("purged"),
    Field::new("complete"),
];

/// Compare a database with all submissions of a form, and correct it
///
/// Synchronizes the form, then reads all of its submissions. Missing and different ones are stored.
/// Submissions that the service does not have stay, unless `--mark-deleted` hides them from views and
/// exports, or `--purge-deleted` removes them. Both fail if the list may be incomplete. Ends with exit 9 if
/// it found a difference: a submission that was missing, had other content, was wrongly marked as deleted,
/// or is in the database only and not marked or removed by this run.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  formsvc submissions sync verify survey --to sqlite:survey.db\n  formsvc submissions sync verify survey --to sqlite:survey.db --mark-deleted\n  formsvc submissions sync verify survey --to sqlite:survey.db --purge-deleted"
)]
pub(super) struct Verify {
    /// The form: its id, public id (as in /f/ID), exact title, or the beginning of either id
    form: String,
    #[command(flatten)]
    target: Target,
    /// Hide submissions that the service does not have from views and exports
    #[arg(long, group = "deleted")]
    mark_deleted: bool,
    /// Delete submissions that the service lacks, and hidden ones; an SQLite file keeps no byte of them
    #[arg(long, group = "deleted")]
    purge_deleted: bool,
    /// Allow `--mark-deleted` and `--purge-deleted` if the service has no submissions at all
    #[arg(long, requires = "deleted")]
    allow_empty: bool,
    #[command(flatten)]
    requests: RequestFlags,
}

impl Verify {
    pub(super) async fn run(self, cx: &Context) -> Result<(), CliError> {
        let deadline = cx.deadline(self.requests.max_time);
        cx.until(deadline, Box::pin(self.run_until(cx, deadline))).await
    }

    async fn run_until(&self, cx: &Context, deadline: Option<Instant>) -> Result<(), CliError> {
        let mut listing = cx.output.listing(&FIELDS)?;
        let target = self.target.read()?.time_limit(remaining(deadline));
        let store = open_store(cx, &target).await?;
        let client = cx.client().await?;
        let form = find_form(cx, client, &store, &self.form).await?;
        // Submissions since the last sync are not a difference.
        sync_form(cx, client, &store, &form, &self.requests.pull(deadline), &mut 0).await?;
        let verify = VerifyOptions::default()
            .mark_deleted(self.mark_deleted)
            .purge_deleted(self.purge_deleted)
            .allow_empty(self.allow_empty);
        cx.progress.begin();
        let mut stored = 0;
        cx.shutdown.set_saved("the form is synchronized, and not yet compared".to_owned());
        let on_page = |page: PullProgress<'_>| {
            stored = page.new;
            cx.progress.submissions(page.rows, None, page.reached.as_str());
        };
        let verified =
            store.verify(client, &form.id, &self.requests.pull(deadline), &verify, on_page).await;
        cx.progress.end();
        let next = "compares again from the first page";
        let summary = verified.map_err(|error| explain_stopped(error, stored, next))?;
        remark_changes(cx, &form, &summary.changes);
        listing.push(&json!({
            "form": form.title,
            "submissions": summary.rows,
            "missing": summary.missing,
            "changed": summary.changed,
            "restored": summary.restored,
            "deleted": summary.deleted,
            "marked": summary.is_marked,
            "purged": summary.purged,
            "complete": completeness_name(summary.completeness),
        }));
        cx.output.list_if_requested(&listing)?;
        if let Some(log) = summary.log.as_deref().filter(|_| self.purge_deleted) {
            let what = "the removed submissions are still in the file, which another program reads";
            let hint = "repeat the command when that program has ended";
            let cause = format!("`{}` cannot be emptied", log.display());
            return Err(CliError::new(Exit::LocalIo, what).cause(cause).hint(hint));
        }
        remark_log(cx, summary.log.as_deref());
        let text = format!("{}: {}", form.title, describe(&summary));
        if summary.completeness != Completeness::Incomplete && is_different(&summary) {
            return Err(CliError::new(Exit::DataPolicy, text));
        }
        cx.progress.remark(&text);
        incomplete(&summary.left_out)
    }
}

/// Returns true for a difference. Submissions that the user asked to mark are not a difference.
fn is_different(summary: &VerifySummary) -> bool {
    let unmarked = if summary.is_marked { 0 } else { summary.deleted };
    summary.missing + summary.changed + summary.restored + unmarked > 0
}

fn describe(summary: &VerifySummary) -> String {
    let deleted = if summary.purged > 0 {
        "not in the service and removed"
    } else if summary.is_marked {
        "not in the service and marked as deleted"
    } else {
        "not in the service (`--mark-deleted` hides them)"
    };
    let mut parts = vec![format!("{} in the service", counted(summary.rows, "submission"))];
    for (count, difference) in [
        (summary.missing, "missing and now stored"),
        (summary.changed, "different and now replaced"),
        (summary.restored, "marked as deleted and now restored"),
        (summary.deleted, deleted),
        (summary.purged.saturating_sub(summary.deleted), "marked before and now removed"),
    ] {
        if count > 0 {
            parts.push(format!("{} {difference}", counted(count, "submission")));
        }
    }
    if parts.len() == 1 {
        parts.push("no difference in the submissions received".to_owned());
    }
    parts.join(", ")
}
