//! `formsvc-server form show`.

use super::account;
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output::{self, OutputArgs, Shape};

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
    let show = async |admin: &Admin| account::of(admin, &admin.find_form(&args.form).await?).await;
    let account = with(&args.database, Missing::Refuse, show).await?;
    match shape {
        Shape::Text => account.text().iter().try_for_each(|line| output::line(line)),
        Shape::Json => output::json(&account),
    }
}
