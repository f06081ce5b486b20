//! `formsvc-server form list`.

use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// E-mail address of the user.
    #[arg(long, value_name = "EMAIL")]
    user: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let list = async |admin: &Admin| {
        let user = admin.user(&args.user).await?;
        Ok(admin.list_forms(&user.id).await?)
    };
    let forms = with(&args.database, Missing::Refuse, list).await?;
    forms.iter().try_for_each(output::json)
}
