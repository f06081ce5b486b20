//! `formsvc-server webhook remove`.

use super::{EndpointArgs, record};
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let id = args.endpoint.id()?;
    let remove = async |admin: &Admin| Ok(admin.remove_endpoint(&id).await?);
    output::json(&record(&with(&args.database, Missing::Refuse, remove).await?))
}
