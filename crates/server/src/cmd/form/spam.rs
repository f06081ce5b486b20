//! `formsvc-server form spam`.

use formsvc_protocol::{Submission, SubmissionId};

use crate::admin::{Admin, parse_id};
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::settings::{bad, whole};
use crate::store::SpamRequest;

const LIMIT_DEFAULT: u32 = 100;
/// As much as is kept.
const LIMIT_MAX: u32 = 1_000;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
    /// How many to print, at most 1000 [default: 100].
    #[arg(long, value_name = "N")]
    limit: Option<String>,
    /// Only what is listed after this one.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let after = args.after.as_deref().map(submission_id).transpose()?;
    let limit = args.limit.as_deref().map_or(Ok(LIMIT_DEFAULT), limit)?;
    let list = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?.id;
        // One more than is printed, so that it is known whether that was all.
        let request = SpamRequest { form, after: after.clone(), limit: limit + 1 };
        Ok(admin.list_spam(request).await?)
    };
    let mut spam = with(&args.database, Missing::Refuse, list).await?;
    let has_more = spam.len() > limit as usize;
    spam.truncate(limit as usize);
    let more = spam.last().filter(|_| has_more).map(|last| last.id.clone());
    // Shaped as submissions are, though nothing lists them as such.
    let spam =
        spam.into_iter().map(|spam| Submission::new(spam.id, spam.answers, spam.received_at));
    spam.into_iter().try_for_each(|spam| output::json(&spam))?;
    if let Some(last) = more {
        output::note(&format!("there is more: `--after {last}`"));
    }
    Ok(())
}

fn submission_id(text: &str) -> Result<SubmissionId, CommandError> {
    parse_id(text).map_err(|_| bad("--after", text, "must be an id that was listed"))
}

fn limit(text: &str) -> Result<u32, CommandError> {
    let rule = "must be a whole number from 1 to 1000";
    whole(text, 1, LIMIT_MAX).ok_or_else(|| bad("--limit", text, rule))
}
