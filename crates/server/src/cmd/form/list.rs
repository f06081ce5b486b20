//! `formsvc-server form list`.

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
        Ok(admin.list_forms(&user.id).await?)
    };
    let forms = with(&args.database, Missing::Refuse, list).await?;
    let columns = [
        ("STATUS", Cut::Never),
        ("TITLE", Cut::End),
        ("MADE", Cut::Never),
        // Commands take it as well as the id, for which there is no room.
        ("PUBLIC ID", Cut::Never),
    ];
    output::list(shape, &forms, Table::new(columns), |table, form| {
        let (status, made) = (form.status.as_str(), output::day(&form.created_at));
        table.row([status, &form.title, made, form.public_id.as_str()]);
    })
}
