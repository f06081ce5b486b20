//! `formsvc-server webhook`.

mod add;
mod disable;
mod enable;
mod list;
mod remove;
mod rotate;

use formsvc_protocol::{EndpointId, FormId, Timestamp};
use serde::Serialize;

use super::error::CommandError;
use super::settings::bad;
use crate::admin::parse_id;
use crate::secrets::SECRET_PREFIX;
use crate::store::EndpointRecord;

#[derive(Debug, clap::Subcommand)]
pub(super) enum Group {
    /// Add an endpoint to a form and print its signing secret. It is shown only once.
    Add(add::Args),
    /// List the endpoints of a form, oldest first.
    List(list::Args),
    /// Replace the signing secret of an endpoint and print the new one. It is shown only once.
    Rotate(rotate::Args),
    /// Disable an endpoint: pending deliveries wait, and new submissions create none.
    Disable(disable::Args),
    /// Enable an endpoint and send its waiting deliveries.
    Enable(enable::Args),
    /// Remove an endpoint: cancel its pending deliveries and erase its secrets.
    Remove(remove::Args),
}

pub(super) async fn run(group: &Group) -> Result<(), CommandError> {
    match group {
        Group::Add(args) => add::run(args).await,
        Group::List(args) => list::run(args).await,
        Group::Rotate(args) => rotate::run(args).await,
        Group::Disable(args) => disable::run(args).await,
        Group::Enable(args) => enable::run(args).await,
        Group::Remove(args) => remove::run(args).await,
    }
}

#[derive(Debug, clap::Args)]
struct EndpointArgs {
    /// The endpoint's id, as `webhook list` shows it.
    #[arg(value_name = "ID")]
    id: String,
}

impl EndpointArgs {
    fn id(&self) -> Result<EndpointId, CommandError> {
        endpoint_id("ID", &self.id)
    }
}

/// An endpoint's id, from a flag.
pub(super) fn endpoint_id(flag: &str, text: &str) -> Result<EndpointId, CommandError> {
    // A secret in place of an id must not be repeated in an error.
    if text.starts_with(SECRET_PREFIX) {
        let failed =
            CommandError::usage("this is a signing secret, and an endpoint's id is wanted");
        return Err(failed.hint("`formsvc-server webhook list` shows the ids"));
    }
    parse_id(text).map_err(|rule| bad(flag, text, rule))
}

/// An endpoint as JSON shows it.
#[derive(Serialize)]
struct Shown<'a> {
    id: &'a EndpointId,
    form_id: &'a FormId,
    url: &'a str,
    status: &'static str,
    created_at: &'a Timestamp,
    previous_secret_until: Option<&'a Timestamp>,
}

fn record(endpoint: &EndpointRecord) -> Shown<'_> {
    Shown {
        id: &endpoint.id,
        form_id: &endpoint.form,
        url: &endpoint.url,
        status: endpoint.status.as_str(),
        created_at: &endpoint.created_at,
        previous_secret_until: endpoint.previous_secret_until.as_ref(),
    }
}
