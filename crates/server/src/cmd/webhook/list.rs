//! `formsvc-server webhook list`.

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
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
    #[command(flatten)]
    output: OutputArgs,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let shape = args.output.shape()?;
    let list = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?;
        Ok(admin.list_endpoints(&form.id).await?)
    };
    let endpoints = with(&args.database, Missing::Refuse, list).await?;
    let endpoints: Vec<_> = endpoints.iter().map(record).collect();
    let table = Table::new([("STATUS", Cut::Never), ("URL", Cut::Url), ("ID", Cut::Never)]);
    output::list(shape, &endpoints, table, |table, endpoint| {
        table.row([endpoint.status, endpoint.url, endpoint.id.as_str()]);
    })
}
