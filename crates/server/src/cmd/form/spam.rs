//! `formsvc-server form spam`.

use formsvc_protocol::Submission;

use super::given;
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Public id of the form; `form list` shows it.
    #[arg(value_name = "PUBLIC_ID")]
    form: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let public_id = given::public_id("PUBLIC_ID", &args.form)?;
    let list = async |admin: &Admin| {
        let form = admin.public_form(&public_id).await?.form;
        Ok(admin.list_spam(&form.id).await?)
    };
    let spam = with(&args.database, Missing::Refuse, list).await?;
    // Shaped as submissions are, though nothing lists them as such.
    let spam =
        spam.into_iter().map(|spam| Submission::new(spam.id, spam.answers, spam.received_at));
    spam.into_iter().try_for_each(|spam| output::json(&spam))
}
