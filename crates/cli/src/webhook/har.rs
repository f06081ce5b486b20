//! Captures as an HTTP archive (HAR 1.2), which browsers and other programs open.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};

use super::capture::{Capture, Forwarded, Outcome};
use super::fields::millis;
use super::kept::body_text;
use super::{mask, message};

/// What stands before the entries, and after them; between two is a comma.
pub(crate) const AROUND: [&str; 2] = [
    concat!(
        r#"{"log":{"version":"1.2","creator":{"name":"formsvc","version":""#,
        env!("CARGO_PKG_VERSION"),
        r#""},"entries":["#
    ),
    "]}}\n",
];

/// A capture as an entry.
pub(crate) fn entry(capture: &Capture, reveal: bool) -> Value {
    let received = &*capture.received;
    let outcome = capture.outcome.as_deref();
    let took = outcome.map_or(0.0, |outcome| millis(outcome.took));
    let mime = received.headers.get(header::CONTENT_TYPE);
    let mime = mime.map(|mime| String::from_utf8_lossy(mime.as_bytes())).unwrap_or_default();
    let mut post = json!({"mimeType": mime, "params": []});
    put_text(&mut post, &received.body);
    let address = message::address(received);
    let address = mask::target(&address, reveal);
    let query = address.split_once('?').map_or("", |(_, query)| query);
    let query: Vec<Value> = url::form_urlencoded::parse(query.as_bytes())
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    json!({
        "startedDateTime": format!("{:.3}", received.at),
        "time": took,
        "request": {
            "method": received.method.as_str(),
            "url": &*address,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": headers(&received.headers, reveal),
            "queryString": query,
            "postData": post,
            "headersSize": -1,
            "bodySize": received.body.len(),
        },
        "response": response(outcome, reveal),
        "cache": {},
        "timings": {"send": 0, "wait": took, "receive": 0},
        "comment": format!(
            "capture {}: {}",
            capture.number.unwrap_or_default(),
            received.verdict.code.row().name
        ),
    })
}

/// The bytes as text, or in base64.
fn put_text(content: &mut Value, body: &[u8]) {
    if let Some(text) = body_text(body) {
        content["text"] = text.into();
    } else {
        content["text"] = STANDARD.encode(body).into();
        content["encoding"] = "base64".into();
    }
}

/// What the sender was answered with, as far as it is known: a target's answer, or a status.
fn response(outcome: Option<&Outcome>, reveal: bool) -> Value {
    let status = outcome.and_then(|outcome| outcome.status);
    let decisive = outcome.and_then(Outcome::decisive);
    // What cannot be relayed was answered for by the listener.
    let answer: Option<&Forwarded> = decisive
        .and_then(|forward| forward.answer.as_ref().ok())
        .filter(|answer| Some(answer.status) == status);
    let mut content = json!({"size": 0, "mimeType": "", "text": ""});
    if let Some(answer) = answer {
        content["size"] = answer.body.len().into();
        let mime = answer.headers.get(header::CONTENT_TYPE);
        content["mimeType"] =
            mime.map(|mime| String::from_utf8_lossy(mime.as_bytes())).unwrap_or_default().into();
        put_text(&mut content, &mask::answer(&answer.body, reveal));
    }
    let reason = status.and_then(|status| StatusCode::from_u16(status).ok());
    json!({
        // 0 stands for no answer.
        "status": status.unwrap_or(0),
        "statusText": reason.and_then(|status| status.canonical_reason()).unwrap_or_default(),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": answer.map_or_else(|| json!([]), |answer| headers(&answer.headers, reveal)),
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": answer.map_or(-1, |answer| i64::try_from(answer.body.len()).unwrap_or(-1)),
    })
}

fn headers(headers: &HeaderMap, reveal: bool) -> Value {
    let header = |(name, value): (&header::HeaderName, &header::HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        json!({"name": name.as_str(), "value": value})
    };
    mask::headers(headers, reveal).iter().map(header).collect()
}
