//! `formsvc-server migrate`: opening a database is what brings it up to date.

use super::database::{DatabaseArgs, Missing, with};
use super::error::CommandError;
use super::output;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(args: &Args) -> Result<(), CommandError> {
    with(&args.database, Missing::Create, async |_| Ok(())).await?;
    output::note(&format!("`{}` is up to date", args.database.database));
    Ok(())
}
