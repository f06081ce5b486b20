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

use crate::account::key::aside;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::editor;
use crate::output::pretty;
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

/// Returns the time limit of a response: that of a flag or variable, or else the service's. A timeout in a
/// configuration file applies only to requests to the service.
pub(in crate::cmd) fn response_timeout(cx: &Context) -> Duration {
    timeout_setting(cx, Origin::is_of_this_run).unwrap_or(DELIVERY_TIMEOUT)
}

/// Returns the setting `timeout` if it is from such an origin.
pub(in crate::cmd) fn timeout_setting(
    cx: &Context,
    is_origin: impl Fn(&Origin) -> bool,
) -> Option<Duration> {
    let row = cx.settings.resolved.row("timeout")?;
    cx.settings.timeout.filter(|_| is_origin(&row.origin))
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
    /// Edit the body in $VISUAL or $EDITOR before it is sent
    #[arg(long, help_heading = "Payload")]
    pub(in crate::cmd) edit: bool,
}

impl ChangeArgs {
    /// Returns the changes of `--unset` and `--set`, in the order in which they are applied.
    pub(in crate::cmd) fn changes(&self) -> Vec<Change> {
        let unset = self.unset.iter().map(|path| Change::Unset { path: path.clone() });
        unset.chain(self.set.iter().cloned()).collect()
    }

    /// Returns the changed body; `None` without a flag.
    pub(in crate::cmd) async fn apply(&self, body: &Bytes) -> Result<Option<Bytes>, CliError> {
        let changes = self.changes();
        if changes.is_empty() && !self.edit {
            return Ok(None);
        }
        let body = edit::apply(body, &changes)?;
        Ok(Some(if self.edit { edit_in_editor(body).await? } else { body }))
    }
}

/// Opens a body in the user's editor and returns the result. JSON is indented for editing; a body that the
/// user does not change keeps its bytes. The line feed that editors add at the end is removed.
pub(in crate::cmd) async fn edit_in_editor(body: Bytes) -> Result<Bytes, CliError> {
    let indented = pretty(&body);
    let shown = indented.as_ref().map_or(body.clone(), |text| text.clone().into());
    let to_edit = shown.clone();
    let ending = if indented.is_some() { ".json" } else { ".txt" };
    let mut edited = aside(move || editor::edited(&to_edit, ending)).await??;
    if edited == shown {
        return Ok(body);
    }
    if edited.ends_with(b"\n") && !body.ends_with(b"\n") {
        edited.pop();
    }
    Ok(edited.into())
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
