//! Flags of requests to receivers, shared by all commands that send any.

use std::time::Duration;

use clap::Args;
use formsvc_contract::send::{HttpSender, HttpSenderOptions, SendError, SendErrorKind};
use formsvc_protocol::limits::DELIVERY_TIMEOUT;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::context::Context;
use crate::error::{CliError, network};
use crate::exit::Exit;
use crate::settings::Origin;

/// Maximal number of bytes to read of an answer to a request to a typed address.
const TYPED_MAX: usize = 1 << 20;

/// What `--timeout` is the time of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timeout {
    OfAnswers,
    OfTheRun,
}

/// Returns advice about a failed attempt.
pub(crate) fn hint(error: &SendError) -> Option<&'static str> {
    match error.kind {
        SendErrorKind::Untrusted => {
            Some("trust its certificate with --cacert, or any with --insecure")
        }
        SendErrorKind::Proxy => error.connect_failure.and_then(network::hint),
        _ => None,
    }
}

/// Flags of how requests are sent.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SenderArgs {
    /// A header to send to every target, in place of one of the same name; can be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header, help_heading = "Requests")]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Accept any TLS certificate of a receiver: an attacker on the path can read and change everything
    #[arg(long, help_heading = "Requests")]
    insecure: bool,
}

impl SenderArgs {
    /// Creates a sender that reads at most `answer_max` bytes of an answer.
    pub(crate) fn sender(
        &self,
        cx: &Context,
        timeout: Duration,
        answer_max: usize,
    ) -> Result<HttpSender, CliError> {
        let mut network = cx.network()?.clone();
        network.danger_accept_any_certificate(self.insecure);
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            headers.append(name, value.clone());
        }
        new_sender(HttpSenderOptions { timeout, network, headers, answer_max })
    }
}

/// Creates a sender for addresses that the user types while a listener runs. It has the network settings
/// of the listener's sender, but neither its headers nor `--insecure`: these are for the targets only.
pub(crate) fn plain(sender: &HttpSender) -> Result<HttpSender, CliError> {
    let mut network = sender.network().clone();
    network.danger_accept_any_certificate(false);
    let (timeout, headers) = (sender.timeout(), HeaderMap::new());
    new_sender(HttpSenderOptions { timeout, network, headers, answer_max: TYPED_MAX })
}

fn new_sender(options: HttpSenderOptions) -> Result<HttpSender, CliError> {
    HttpSender::new(options)
        .map_err(|error| CliError::new(Exit::Failed, error.to_string()).because_of(&error))
}

/// How long an answer may take, where no flag of its own says it: what was said for this run, or else
/// what the service gives. A setting that lasts is about requests to the service; and where the run itself
/// has a time, `--timeout` is that.
pub(crate) fn answer_limit(cx: &Context, timeout_is: Timeout) -> Duration {
    let row = cx.settings.resolved.row("timeout");
    let is_said = row.is_some_and(|row| match timeout_is {
        Timeout::OfAnswers => row.origin.is_said(),
        Timeout::OfTheRun => row.origin.is_said() && !matches!(row.origin, Origin::Flag(_)),
    });
    cx.settings.timeout.filter(|_| is_said).unwrap_or(DELIVERY_TIMEOUT)
}

/// Reads `Name: value`.
pub(crate) fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let Some((name, value)) = text.split_once(':') else {
        return Err("a header is a name, a colon and a value: 'X-Tenant: 7'".to_owned());
    };
    let name = name.trim();
    let read = HeaderName::try_from(name)
        .map_err(|_| format!("`{name}` is no name of a header: letters, digits and -"))?;
    let value = HeaderValue::try_from(value.trim())
        .map_err(|_| format!("the value of {name} has control characters"))?;
    if matches!(read.as_str(), "content-length" | "transfer-encoding" | "connection") {
        return Err(format!("{name} follows from the request, and cannot be set"));
    }
    Ok((read, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_a_name_a_colon_and_a_value() {
        let read =
            |text| header(text).map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
        assert_eq!(read("X-A: b: c").unwrap(), ("x-a".to_owned(), b"b: c".to_vec()));
        assert_eq!(read("X-A:").unwrap().1, b"");
        assert_eq!(read("Authorization: Bearer é").unwrap().1, "Bearer é".as_bytes());
        for (text, why) in [
            ("A=1", "a header is a name, a colon and a value"),
            ("", "a header is a name"),
            (": x", "no name of a header"),
            ("a b: x", "no name of a header"),
            ("a: x\ny", "control characters"),
            ("Content-Length: 3", "cannot be set"),
        ] {
            let told = header(text).unwrap_err();
            assert!(told.contains(why), "{text:?}: {told}");
        }
    }
}
