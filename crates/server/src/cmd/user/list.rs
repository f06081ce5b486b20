//! `formsvc-server user list`.

use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output::{self, OutputArgs};
use crate::cmd::table::{Cut, Table};

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let shape = args.output.shape()?;
    let list = async |admin: &Admin| Ok(admin.list_users().await?);
    let users = with(&args.database, Missing::Refuse, list).await?;
    let table = Table::new([("EMAIL", Cut::End), ("NAME", Cut::End), ("ID", Cut::Never)]);
    output::list(shape, &users, table, |table, user| {
        table.row([&user.email, &user.name, user.id.as_str()]);
    })
}
