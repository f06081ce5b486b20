//! Formats requests as HTTP/1.1 messages.

use formsvc_contract::send::Outgoing;
use http::{HeaderMap, Method, header};
use url::Position;

use crate::delivery::Delivery;
use crate::mask;

/// Formats a request as it is sent over a connection.
pub fn message(outgoing: &Outgoing, reveal: bool) -> Vec<u8> {
    let Outgoing { method, url, headers, body } = outgoing;
    let target = &url[Position::BeforePath..Position::AfterQuery];
    let host = &url[Position::BeforeHost..Position::AfterPort];
    let host = (!headers.contains_key(header::HOST)).then_some(host);
    write(method, target, host, headers, body, reveal)
}

/// Formats a delivery as it was received. Only the framing of the body, and secrets if they are masked, differ from
/// the received message.
pub(super) fn received(delivery: &Delivery, reveal: bool) -> Vec<u8> {
    let Delivery { summary, headers, body, .. } = delivery;
    write(&summary.method, &summary.request_target, None, headers, body, reveal)
}

fn write(
    method: &Method,
    target: &str,
    host: Option<&str>,
    headers: &HeaderMap,
    body: &[u8],
    reveal: bool,
) -> Vec<u8> {
    let target = mask::target(target, reveal);
    let mut message = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    let mut push = |name: &str, value: &[u8]| {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            message.extend_from_slice(part);
        }
    };
    if let Some(host) = host {
        push("host", host.as_bytes());
    }
    for (name, value) in &mask::headers(headers, reveal) {
        if !matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
            push(name.as_str(), value.as_bytes());
        }
    }
    push("content-length", body.len().to_string().as_bytes());
    [&message, &b"\r\n"[..], body].concat()
}
