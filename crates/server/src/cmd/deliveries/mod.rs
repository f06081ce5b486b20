//! `formsvc-server deliveries`.

mod account;
mod list;
mod resend;
mod show;

use formsvc_protocol::{DeliveryId, EndpointId, SubmissionId, Timestamp};
use serde::Serialize;

use super::error::CommandError;
use super::settings::bad;
use crate::admin::parse_id;
use crate::request_id::RequestId;
use crate::store::DeliveryRecord;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// List the deliveries of a form, newest submission first.
    List(list::Args),
    /// Show a delivery with its attempts.
    Show(show::Args),
    /// Make the running server attempt a delivery again at once, in addition to its retries.
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
    parse_id(text).map_err(|rule| bad(flag, text, rule))
}

/// A delivery as JSON shows it.
#[derive(Serialize)]
struct Shown<'a> {
    id: DeliveryId,
    endpoint_id: &'a EndpointId,
    url: &'a str,
    submission_id: &'a SubmissionId,
    /// Of the request that made the submission; null when none did, as with imports.
    request_id: Option<String>,
    state: &'static str,
    attempts: u32,
    last_status: Option<u16>,
    last_error: Option<&'a str>,
    created_at: &'a Timestamp,
    next_attempt_at: Option<&'a Timestamp>,
    finished_at: Option<&'a Timestamp>,
}

fn record(delivery: &DeliveryRecord) -> Shown<'_> {
    Shown {
        id: delivery.key.id(),
        endpoint_id: &delivery.endpoint,
        url: &delivery.url,
        submission_id: &delivery.submission,
        request_id: RequestId::of_submission(&delivery.submission).map(|id| id.to_string()),
        state: delivery.state.as_str(),
        attempts: delivery.attempts,
        last_status: delivery.last_status,
        last_error: delivery.last_error.as_deref(),
        created_at: &delivery.created_at,
        next_attempt_at: delivery.next_attempt_at.as_ref(),
        finished_at: delivery.finished_at.as_ref(),
    }
}
