//! `formsvc-server form fields`.

use super::account;
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::exit::Exit;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let show = async |admin: &Admin| account::of(admin, &admin.find_form(&args.form).await?).await;
    let account = with(&args.database, Missing::Refuse, show).await?;
    let Some(lines) = account.fields() else {
        let what = format!("form `{}` has no fields: it takes any answers", account.name());
        let hint = "`formsvc-server form edit FORM --fields FILE` gives it some";
        return Err(CommandError::new(Exit::NotFound, what).hint(hint));
    };
    lines.iter().try_for_each(|line| output::line(line))
}
