//! Deliveries as entries of an HTTP archive (HAR 1.2), which browsers and other programs open.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::address;
use crate::delivery::Delivery;
use crate::mask;
use crate::record::{instant, millis};

/// The text before the first entry.
pub(super) const BEGIN: &str = concat!(
    r#"{"log":{"version":"1.2","creator":{"name":"formsvc","version":""#,
    env!("CARGO_PKG_VERSION"),
    "\"},\"entries\":[\n"
);
/// The text after the last entry.
pub(super) const END: &str = "]}}\n";

/// Returns a delivery as an entry.
pub(super) fn entry(delivery: &Delivery, reveal: bool) -> Value {
    let Delivery { summary, headers, body, .. } = delivery;
    let took = summary.response.map_or(0.0, |response| millis(response.took));
    let address = address(delivery);
    let url = mask::target(&address, reveal);
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let query = url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| json!({"name": name, "value": value}));
    let number = summary.number.map(|number| format!("capture {number}: ")).unwrap_or_default();
    let mut post = content(headers, body);
    post["params"] = json!([]);
    json!({
        "startedDateTime": instant(summary.received_at),
        "time": took,
        "request": {
            "method": summary.method.as_str(),
            "url": url,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": header_list(headers, reveal),
            "queryString": query.collect::<Vec<_>>(),
            "postData": post,
            "headersSize": -1,
            "bodySize": body.len(),
        },
        "response": response(delivery, reveal),
        "cache": {},
        "timings": {"send": 0, "wait": took, "receive": 0},
        "comment": format!("{number}{}", summary.verdict.code.row().name),
    })
}

/// Returns the response to the sender: always the status; headers and body only if a target's response was
/// relayed.
fn response(delivery: &Delivery, reveal: bool) -> Value {
    let status = delivery.summary.response.and_then(|response| response.status);
    // Skip the target's response if the listener replaced it (for example, 999 becomes 502).
    let relayed = delivery.relayed_response().filter(|response| Some(response.status) == status);
    let reason = status.and_then(|status| StatusCode::from_u16(status).ok());
    let empty = HeaderMap::new();
    let (headers, body, size) = match relayed {
        Some(response) => {
            let size = i64::try_from(response.body.len()).unwrap_or(-1);
            (&response.headers, mask::response_body(&response.body, reveal), size)
        }
        None => (&empty, [].as_slice().into(), -1),
    };
    let mut content = content(headers, &body);
    content["size"] = size.max(0).into();
    json!({
        // 0 means no response.
        "status": status.unwrap_or(0),
        "statusText": reason.and_then(|status| status.canonical_reason()).unwrap_or_default(),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": header_list(headers, reveal),
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": size,
    })
}

/// Returns a body as text, or as base64 if the body is not UTF-8 or contains NUL.
fn content(headers: &HeaderMap, body: &[u8]) -> Value {
    let mime = headers.get(header::CONTENT_TYPE);
    let mime = mime.map(|mime| String::from_utf8_lossy(mime.as_bytes())).unwrap_or_default();
    match std::str::from_utf8(body) {
        Ok(text) if !text.contains('\0') => json!({"mimeType": mime, "text": text}),
        _ => json!({"mimeType": mime, "text": STANDARD.encode(body), "encoding": "base64"}),
    }
}

fn header_list(headers: &HeaderMap, reveal: bool) -> Value {
    let headers = mask::headers(headers, reveal);
    let header = |(name, value): (&header::HeaderName, &header::HeaderValue)| json!({"name": name.as_str(), "value": String::from_utf8_lossy(value.as_bytes())});
    headers.iter().map(header).collect()
}
