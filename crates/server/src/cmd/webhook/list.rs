//! `formsvc-server webhook list`.

use super::record;
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
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
    let list = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?;
        Ok(admin.list_endpoints(&form.id).await?)
    };
    let endpoints = with(&args.database, Missing::Refuse, list).await?;
    endpoints.iter().try_for_each(|endpoint| output::json(&record(endpoint)))
}
