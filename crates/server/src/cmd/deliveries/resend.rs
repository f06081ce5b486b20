//! `formsvc-server deliveries resend`.

use super::{DeliveryArgs, record};
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let id = args.delivery.id()?;
    let resend = async |admin: &Admin| Ok(admin.resend(&id).await?);
    output::json(&record(&with(&args.database, Missing::Refuse, resend).await?))
}
