//! `formsvc-server deliveries show`.

use std::io::{IsTerminal, stdout};

use super::{DeliveryArgs, account};
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::settings::bad;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    #[command(flatten)]
    delivery: DeliveryArgs,
    /// text or json [default: text on a terminal, else json].
    #[arg(long, value_name = "FORMAT")]
    output: Option<String>,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let id = args.delivery.id()?;
    let as_text = match args.output.as_deref() {
        Some("text") => true,
        Some("json") => false,
        None => stdout().is_terminal(),
        Some(other) => return Err(bad("--output", other, "must be text or json")),
    };
    let show = async |admin: &Admin| Ok(admin.delivery(&id).await?);
    let delivery = with(&args.database, Missing::Refuse, show).await?;
    if as_text {
        account::text(&delivery).iter().try_for_each(|line| output::line(line))
    } else {
        output::json(&account::json(&delivery))
    }
}
