//! `formsvc-server key list`.

use super::record;
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output::{self, OutputArgs};
use crate::cmd::table::{Cut, Table};

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// E-mail address of the user.
    #[arg(long, value_name = "EMAIL")]
    user: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let shape = args.output.shape()?;
    let list = async |admin: &Admin| {
        let user = admin.user(&args.user).await?;
        Ok(admin.list_keys(&user.id).await?)
    };
    let keys = with(&args.database, Missing::Refuse, list).await?;
    let keys: Vec<_> = keys.iter().map(record).collect();
    let columns = [
        ("STATE", Cut::Never),
        ("PREFIX", Cut::Never),
        ("NAME", Cut::End),
        ("USED", Cut::Never),
        ("ID", Cut::Never),
    ];
    output::list(shape, &keys, Table::new(columns), |table, key| {
        let state = if key.revoked_at.is_some() { "revoked" } else { "active" };
        let used = key.last_used_at.map_or("never", output::day);
        table.row([state, key.prefix, key.name, used, key.id.as_str()]);
    })
}
