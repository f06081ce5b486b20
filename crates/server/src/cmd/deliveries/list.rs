//! `formsvc-server deliveries list`.

use super::{delivery_id, record};
use crate::admin::Admin;
use crate::cmd::database::{DatabaseArgs, Missing, with};
use crate::cmd::error::CommandError;
use crate::cmd::output;
use crate::cmd::settings::{bad, whole};
use crate::cmd::webhook::endpoint_id;
use crate::store::{DeliveriesRequest, DeliveryKey, DeliveryState};

const LIMIT_DEFAULT: u32 = 100;
const LIMIT_MAX: u32 = 10_000;

#[derive(Debug, clap::Args)]
pub(in crate::cmd) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Id or public id of the form.
    #[arg(value_name = "FORM")]
    form: String,
    /// Only deliveries to this endpoint.
    #[arg(long, value_name = "ID")]
    endpoint: Option<String>,
    /// Only deliveries that are pending, retrying, delivered, failed or canceled.
    #[arg(long)]
    state: Option<String>,
    /// Deliveries to print, at most 10000 [default: 100].
    #[arg(long, value_name = "N")]
    limit: Option<String>,
    /// Only deliveries listed after this one.
    #[arg(long, value_name = "ID")]
    after: Option<String>,
}

pub(in crate::cmd) async fn run(args: &Args) -> Result<(), CommandError> {
    let endpoint = args.endpoint.as_deref().map(|id| endpoint_id("--endpoint", id)).transpose()?;
    let state = args.state.as_deref().map(state).transpose()?;
    let after = args.after.as_deref().map(key).transpose()?;
    let limit = args.limit.as_deref().map_or(Ok(LIMIT_DEFAULT), limit)?;
    let list = async |admin: &Admin| {
        let form = admin.find_form(&args.form).await?.id;
        let endpoint = endpoint.clone();
        let request = DeliveriesRequest { form, endpoint, state, after, limit };
        Ok(admin.list_deliveries(request).await?)
    };
    let deliveries = with(&args.database, Missing::Refuse, list).await?;
    deliveries.iter().try_for_each(|delivery| output::json(&record(delivery)))?;
    if let Some(last) = deliveries.last()
        && deliveries.len() == limit as usize
    {
        output::note(&format!("there may be more: `--after {}`", last.key.id()));
    }
    Ok(())
}

fn state(text: &str) -> Result<DeliveryState, CommandError> {
    let rule = "must be pending, retrying, delivered, failed or canceled";
    DeliveryState::from_text(text).ok_or_else(|| bad("--state", text, rule))
}

fn key(text: &str) -> Result<DeliveryKey, CommandError> {
    let key = DeliveryKey::from_id(&delivery_id("--after", text)?);
    key.ok_or_else(|| bad("--after", text, "must be the id of a delivery"))
}

fn limit(text: &str) -> Result<u32, CommandError> {
    let rule = "must be a whole number from 1 to 10000";
    whole(text, 1, LIMIT_MAX).ok_or_else(|| bad("--limit", text, rule))
}
