//! The headers of a message that go on with it from connection to connection: forwarded, relayed, sent once
//! more, or printed as a request.

use http::header::{self, HeaderMap, HeaderName};

/// Headers that are of one connection, and not of what is sent over it (RFC 9110, section 7.6.1).
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

/// The headers without those of the connection they came by, and without those that follow from where
/// they go and with which body.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let is_hop = HOP_BY_HOP.contains(name) || named.iter().any(|other| other == name.as_str());
        // Not removed from a copy, which would change the order of the others.
        if !(is_hop || matches!(*name, header::HOST | header::CONTENT_LENGTH)) {
            kept.append(name, value.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn what_is_of_a_connection_stays_with_it_and_the_rest_keeps_its_order() {
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
