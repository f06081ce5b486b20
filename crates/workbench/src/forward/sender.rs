//! The HTTP client of forwarded requests: settings, headers, and advice about failures.

use formsvc_client::network::ConnectFailureKind;
use formsvc_contract::send::{
    HttpSender, HttpSenderError, HttpSenderOptions, SendError, SendErrorKind,
};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Longest body of a target's response that is read, in bytes.
pub const MAX_RESPONSE_BODY: usize = 1 << 20;

/// Creates a sender for addresses that a user enters while a listener runs. The new sender has the network
/// settings of the listener's sender, but none of its headers, and always checks certificates.
pub fn sender_for_entered_address(sender: &HttpSender) -> Result<HttpSender, HttpSenderError> {
    let mut network = sender.network().clone();
    network.danger_accept_any_certificate(false);
    HttpSender::new(HttpSenderOptions {
        timeout: sender.timeout(),
        network,
        headers: HeaderMap::new(),
        answer_max: MAX_RESPONSE_BODY,
    })
}

/// Returns advice about a failed request.
pub fn advice(error: &SendError) -> Option<&'static str> {
    match (error.kind, error.connect_failure) {
        (SendErrorKind::Untrusted, _) => {
            Some("trust its certificate with --cacert, or any certificate with --insecure")
        }
        (_, Some(ConnectFailureKind::ProxyUnreachable)) => {
            Some("check the address of the proxy, or list the host in NO_PROXY")
        }
        (_, Some(ConnectFailureKind::ProxyAuth)) => Some(
            "set user name and password in the variable: scheme://user:password@host:port, with \
             special characters percent-encoded",
        ),
        (_, Some(ConnectFailureKind::ProxyRefused)) => {
            Some("hosts in NO_PROXY are reached directly")
        }
        _ => None,
    }
}

/// Parses a header that the user adds to forwarded requests: `Name: value`.
///
/// # Errors
/// Returns the rule that the text violates.
pub fn parse_added_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or_else(|| {
        format!("`{text}` has no colon; a header is a name, a colon and a value: 'X-Tenant: 7'")
    })?;
    let name = name.trim();
    let parsed = HeaderName::try_from(name)
        .map_err(|_| format!("`{name}` is not a header name, which has letters, digits and -"))?;
    let value = HeaderValue::try_from(value.trim())
        .map_err(|_| format!("the value of `{name}` contains control characters"))?;
    if matches!(parsed.as_str(), "content-length" | "transfer-encoding" | "connection") {
        return Err(format!("`{name}` is set by the HTTP client"));
    }
    Ok((parsed, value))
}
