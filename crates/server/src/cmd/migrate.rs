//! `formsvc-server migrate`.

use super::database::DatabaseArgs;
use super::error::CommandError;
use super::output;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
}

pub(super) async fn run(args: &Args) -> Result<(), CommandError> {
    args.database.database.migrate().await?;
    output::note(&format!("`{}` is up to date", args.database.database));
    Ok(())
}
