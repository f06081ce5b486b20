//! Headers of forwarded, relayed and replayed messages, and the listener's JSON responses.

use bytes::Bytes;
use formsvc_contract::send::Outgoing;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use url::Url;

use crate::delivery::Delivery;

/// Headers that concern only one connection (RFC 9110, section 7.6.1).
const HOP_BY_HOP: [HeaderName; 11] = [
    header::CONNECTION,
    header::EXPECT,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Returns the headers in their order, without `Host`, `Content-Length` and the headers that concern only one
/// connection.
pub fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    // The headers are copied, because `HeaderMap::remove` would change the order of the remaining headers.
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let is_hop = HOP_BY_HOP.contains(name) || named.iter().any(|other| other == name.as_str());
        if !(is_hop || matches!(*name, header::HOST | header::CONTENT_LENGTH)) {
            kept.append(name, value.clone());
        }
    }
    kept
}

/// Returns a request that sends a delivery to another URL with its end-to-end headers, which include the
/// received signature.
pub fn as_received(delivery: &Delivery, to: Url) -> Outgoing {
    Outgoing {
        method: delivery.summary.method.clone(),
        url: to,
        headers: end_to_end(&delivery.headers),
        body: delivery.body.clone(),
    }
}

/// Returns a response with JSON.
pub(crate) fn json(status: u16, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).expect("constants are valid statuses");
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// Returns an error in the shape of the service (SPEC §7). The code and the message must not contain characters that
/// JSON escapes.
pub(crate) fn json_error(
    status: u16,
    code: &'static str,
    message: &'static str,
) -> Response<Bytes> {
    json(status, format!(r#"{{"error":{{"code":"{code}","message":"{message}"}}}}"#).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_to_end_headers_keep_their_order() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-before", "1"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("x-twice", "b"),
            ("x-twice", "a"),
            ("host", "old.test"),
            ("content-length", "7"),
            ("x-after", "1"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        for name in &HOP_BY_HOP {
            headers.append(name, HeaderValue::from_static("any"));
        }
        let kept = end_to_end(&headers);
        let kept = kept.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        let kept: Vec<_> = kept.collect();
        assert_eq!(kept, [("x-before", "1"), ("x-twice", "b"), ("x-twice", "a"), ("x-after", "1")]);
    }
}
