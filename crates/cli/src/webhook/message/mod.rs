//! A request as something to keep or to run: a message of HTTP, or a command of curl.

mod command;

use formsvc_contract::send::Outgoing;
use http::{HeaderMap, HeaderValue, Method, header};
use url::Position;

pub(crate) use command::{curl, curl_of, curl_with_file};

use super::capture::Received;
use super::mask;

/// The request as it goes over a connection.
pub(crate) fn http(outgoing: &Outgoing, reveal: bool) -> Vec<u8> {
    let Outgoing { method, url, headers, body } = outgoing;
    let mut all = HeaderMap::with_capacity(headers.len() + 1);
    let host = &url[Position::BeforeHost..Position::AfterPort];
    if let (false, Ok(host)) = (headers.contains_key(header::HOST), HeaderValue::from_str(host)) {
        all.insert(header::HOST, host);
    }
    for (name, value) in headers {
        all.append(name, value.clone());
    }
    message(method, &url[Position::BeforePath..Position::AfterQuery], &all, body, reveal)
}

/// A request that came, as it went over its connection. Only how its body was framed is told anew.
pub(crate) fn received(received: &Received, reveal: bool) -> Vec<u8> {
    message(&received.method, &received.request_target, &received.headers, &received.body, reveal)
}

fn message(
    method: &Method,
    target: &str,
    headers: &HeaderMap,
    body: &[u8],
    reveal: bool,
) -> Vec<u8> {
    let target = mask::target(target, reveal);
    let mut message = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
    for (name, value) in &mask::headers(headers, reveal) {
        if !matches!(*name, header::CONTENT_LENGTH | header::TRANSFER_ENCODING) {
            push_header(&mut message, name.as_str(), value.as_bytes(), b"\r\n");
        }
    }
    push_header(&mut message, "content-length", body.len().to_string().as_bytes(), b"\r\n\r\n");
    message.extend_from_slice(body);
    message
}

fn push_header(message: &mut Vec<u8>, name: &str, value: &[u8], end: &[u8]) {
    for part in [name.as_bytes(), b": ", value, end] {
        message.extend_from_slice(part);
    }
}

/// The address that a request came to, as its sender wrote it.
pub(crate) fn address(received: &Received) -> String {
    let host = received.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.filter(|host| !host.is_empty()).unwrap_or("localhost");
    format!("http://{host}{}", received.request_target)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use url::Url;

    use super::*;

    fn outgoing(url: &str, headers: &[(&'static str, &str)], body: &'static [u8]) -> Outgoing {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let body = Bytes::from_static(body);
        Outgoing { method: Method::POST, url: Url::parse(url).unwrap(), headers: map, body }
    }

    #[test]
    fn a_message_is_framed_anew_and_else_as_it_is() {
        let headers =
            [("x-a", "1"), ("content-length", "9"), ("x-a", "2"), ("transfer-encoding", "chunked")];
        let sent = outgoing("http://u:p@host:8/a?b#c", &headers, b"\xff\n");
        assert_eq!(
            http(&sent, false),
            b"POST /a?b HTTP/1.1\r\nhost: host:8\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\n\xff\n"
        );
    }
}
