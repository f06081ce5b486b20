//! Flags of requests to receivers.

use std::time::Duration;

use clap::Args;
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use formsvc_workbench::forward::parse_added_header;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::Origin;

/// Flags of requests to receivers.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cmd) struct SenderArgs {
    /// Send this header to every target. It replaces a header of the same name; repeatable
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = parse_added_header, help_heading = "Requests")]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Accept any TLS certificate of a receiver. An attacker on the network path can read and change requests
    #[arg(long, help_heading = "Requests")]
    insecure: bool,
}

/// The meaning of the flag `--timeout` in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum TimeoutFlag {
    /// Time for each response.
    Response,
    /// Time for the whole run.
    Run,
}

impl SenderArgs {
    /// Creates a sender that reads at most `response_max` bytes of a response.
    pub(in crate::cmd) fn sender(
        &self,
        cx: &Context,
        timeout: Duration,
        response_max: usize,
    ) -> Result<HttpSender, CliError> {
        let mut network = cx.network()?.clone();
        network.danger_accept_any_certificate(self.insecure);
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        let options = HttpSenderOptions { timeout, network, headers, answer_max: response_max };
        HttpSender::new(options)
            .map_err(|error| CliError::new(Exit::Failed, error.to_string()).because_of(&error))
    }
}

/// Returns the time for a response: that of a flag or variable, or else the service's. A timeout in a
/// configuration file is about requests to the service, so it does not count.
pub(in crate::cmd) fn response_timeout(cx: &Context, flag: TimeoutFlag) -> Duration {
    let row = cx.settings.resolved.row("timeout");
    let counts = row.is_some_and(|row| {
        let is_flag = matches!(row.origin, Origin::Flag(_));
        row.origin.is_said() && (flag == TimeoutFlag::Response || !is_flag)
    });
    cx.settings.timeout.filter(|_| counts).unwrap_or(DELIVERY_TIMEOUT)
}
