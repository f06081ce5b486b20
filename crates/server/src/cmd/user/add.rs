//! `formsvc-server user add`.

use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// E-mail address; no two users have the same.
    #[arg(long)]
    email: String,
    /// Display name.
    #[arg(long)]
    name: String,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let add =
        async |admin: &crate::admin::Admin| Ok(admin.create_user(&args.email, &args.name).await?);
    output::json(&with(&args.database, Missing::Create, add).await?)
}
