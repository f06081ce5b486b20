//! `formsvc-server deliveries show`.

use super::{DeliveryArgs, account};
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output::{self, OutputArgs, Shape};

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let id = args.delivery.id()?;
    let shape = args.output.shape()?;
    let show = async |admin: &Admin| Ok(admin.delivery(&id).await?);
    let delivery = with(&args.database, Missing::Refuse, show).await?;
    match shape {
        Shape::Text => account::text(&delivery).iter().try_for_each(|line| output::line(line)),
        Shape::Json => output::json(&account::json(&delivery)),
    }
}
