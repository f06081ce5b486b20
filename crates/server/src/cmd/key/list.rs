//! `formsvc-server key list`.

use super::record;
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
        Ok(admin.list_keys(&user.id).await?)
    };
    let keys = with(&args.database, Missing::Refuse, list).await?;
    keys.iter().try_for_each(|key| output::json(&record(key)))
}
