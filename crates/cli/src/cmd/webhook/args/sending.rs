//! Flags of requests to receivers: headers, changes of the body, and export formats.

use std::time::Duration;

use bytes::Bytes;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_workbench::edit::{self, Change};
use formsvc_workbench::export::{ExportFormat, FORMATS};
use formsvc_workbench::forward::parse_added_header;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Flags of requests to receivers.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cmd) struct SenderArgs {
    /// Add this header to each request to a receiver. It replaces a header of the same name; repeatable
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse_added_header, help_heading = "Requests")]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Accept any TLS certificate of a receiver. An attacker on the network path can read and change requests
    #[arg(long, help_heading = "Requests")]
    insecure: bool,
}

impl SenderArgs {
    /// Creates a sender that reads at most `response_max` bytes of a response.
    pub(in crate::cmd) fn sender(
        &self,
        cx: &Context,
        response_max: usize,
    ) -> Result<HttpSender, CliError> {
        let mut network = cx.network()?.clone();
        network.danger_accept_any_certificate(self.insecure);
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        let timeout = response_timeout(cx);
        let options = HttpSenderOptions { timeout, network, headers, answer_max: response_max };
        HttpSender::new(options)
            .map_err(|error| CliError::new(Exit::Failed, error.to_string()).because_of(&error))
    }
}

/// Returns the time limit of a response: that of a flag or variable, or else the service's. A timeout in a
/// configuration file applies only to requests to the service.
pub(in crate::cmd) fn response_timeout(cx: &Context) -> Duration {
    let row = cx.settings.resolved.row("timeout").filter(|row| row.origin.is_of_this_run());
    row.and(cx.settings.timeout).unwrap_or(DELIVERY_TIMEOUT)
}

/// Flags that change a body.
#[derive(Debug, Args)]
pub(in crate::cmd) struct ChangeArgs {
    /// Set one value: data.Name=Ada, data.Guests=3. The value is JSON, or else text; repeatable
    #[arg(long, value_name = "PATH=VALUE", value_parser = Change::parse_set, help_heading = "Payload")]
    set: Vec<Change>,
    /// Remove one value; repeatable
    #[arg(long, value_name = "PATH", help_heading = "Payload")]
    unset: Vec<String>,
}

impl ChangeArgs {
    /// Returns the changes of `--unset` and `--set`, in the order in which they are applied.
    pub(in crate::cmd) fn changes(&self) -> Vec<Change> {
        let unset = self.unset.iter().map(|path| Change::Unset { path: path.clone() });
        unset.chain(self.set.iter().cloned()).collect()
    }

    /// Returns the changed body; `None` without a flag.
    pub(in crate::cmd) fn apply(&self, body: &Bytes) -> Result<Option<Bytes>, CliError> {
        let changes = self.changes();
        if changes.is_empty() { Ok(None) } else { Ok(Some(edit::apply(body, &changes)?)) }
    }
}

/// Returns the parser of an export format, or only of formats that contain requests to send.
pub(in crate::cmd) fn export_format(
    requests_only: bool,
) -> impl TypedValueParser<Value = ExportFormat> {
    let rows = FORMATS.iter().filter(move |row| row.is_request || !requests_only);
    let values = rows.map(|row| PossibleValue::new(row.name).help(row.description));
    PossibleValuesParser::new(values).map(|name| {
        let row = FORMATS.iter().find(|row| row.name == name);
        row.expect("the values are the names of formats").format
    })
}
