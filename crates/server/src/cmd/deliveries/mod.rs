//! `formsvc-server deliveries`.

mod account;
mod list;
mod resend;
mod show;

use formsvc_protocol::DeliveryId;
use serde_json::{Value, json};

use super::error::CommandError;
use super::settings::bad;
use crate::store::DeliveryRecord;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Print a form's deliveries as JSON lines, newest submission first.
    List(list::Args),
    /// Show a delivery with its attempts.
    Show(show::Args),
    /// Have a delivery attempted once more, at once and outside its retries.
    Resend(resend::Args),
}

pub(super) async fn run(group: &Group) -> Result<(), CommandError> {
    match group {
        Group::List(args) => list::run(args).await,
        Group::Show(args) => show::run(args).await,
        Group::Resend(args) => resend::run(args).await,
    }
}

#[derive(Debug, clap::Args)]
struct DeliveryArgs {
    /// The delivery's id, as `deliveries list` shows it.
    #[arg(value_name = "ID")]
    id: String,
}

impl DeliveryArgs {
    fn id(&self) -> Result<DeliveryId, CommandError> {
        delivery_id("ID", &self.id)
    }
}

fn delivery_id(flag: &str, text: &str) -> Result<DeliveryId, CommandError> {
    DeliveryId::new(text).map_err(|rule| bad(flag, text, &format!("is no id: {rule}")))
}

fn record(delivery: &DeliveryRecord) -> Value {
    json!({
        "id": delivery.key.id(),
        "endpoint_id": delivery.endpoint,
        "url": delivery.url,
        "submission_id": delivery.submission,
        "state": delivery.state.as_str(),
        "attempts": delivery.attempts,
        "created_at": delivery.created_at,
        "next_attempt_at": delivery.next_attempt_at,
        "finished_at": delivery.finished_at,
    })
}
