//! Parses requests from JSON lines that contain a [`DeliveryRecord`](crate::record::DeliveryRecord).

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use jiff::Timestamp;
use serde::Deserialize;

use crate::delivery::CaptureNumber;

/// A request that was read from a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    pub number: Option<CaptureNumber>,
    pub received_at: Timestamp,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A line cannot be parsed as a record.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is not a delivery: {reason}")]
pub struct RecordedError {
    pub line: usize,
    pub reason: String,
}

/// The members of a record that contain the request.
#[derive(Deserialize)]
struct Record {
    capture: Option<CaptureNumber>,
    at: String,
    headers: BTreeMap<String, Vec<String>>,
    body_b64: String,
}

/// Parses the records among JSON lines. Lines without `body_b64`, such as warnings, are skipped.
pub fn parse_recorded(text: &[u8]) -> Result<Vec<RecordedRequest>, RecordedError> {
    let lines = text.split(|byte| *byte == b'\n').enumerate();
    lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .filter_map(|(at, line)| {
            let error = |reason| RecordedError { line: at + 1, reason };
            parse_line(line).map_err(error).transpose()
        })
        .collect()
}

fn parse_line(line: &[u8]) -> Result<Option<RecordedRequest>, String> {
    #[derive(Deserialize)]
    struct Marker {
        body_b64: Option<serde::de::IgnoredAny>,
    }
    let marker: Marker = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if marker.body_b64.is_none() {
        return Ok(None);
    }
    let record: Record = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let mut headers = HeaderMap::new();
    for (name, values) in record.headers {
        let name = HeaderName::try_from(name).map_err(|error| error.to_string())?;
        for value in values {
            let value = HeaderValue::try_from(value).map_err(|error| error.to_string())?;
            headers.append(&name, value);
        }
    }
    let body = STANDARD.decode(record.body_b64).map_err(|error| format!("`body_b64`: {error}"))?;
    let received_at = record.at.parse().map_err(|error: jiff::Error| format!("`at`: {error}"))?;
    Ok(Some(RecordedRequest { number: record.capture, received_at, headers, body: body.into() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"capture":7,"at":"2026-01-01T00:00:00.5Z","headers":{"x-service-signature":["t=1,v1=ab"],"a":["1","2"]},"body_b64":"e30K","more":1}"#;

    #[test]
    fn records_are_read_and_other_lines_skipped() {
        let text = format!("{{\"type\":\"ready\"}}\n{LINE}\n\n");
        let read = parse_recorded(text.as_bytes()).unwrap();
        let [request] = &read[..] else { panic!("{read:?}") };
        assert_eq!((request.number, &request.body[..]), (Some(7), &b"{}\n"[..]));
        assert_eq!(request.received_at.to_string(), "2026-01-01T00:00:00.5Z");
        assert_eq!(request.headers.get_all("a").iter().collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(parse_recorded(b"").unwrap(), []);
    }

    #[test]
    fn malformed_record_error_has_its_line() {
        for (text, start) in [
            ("no".to_owned(), "line 1 is not a delivery: "),
            (format!("{LINE}\n{{"), "line 2 is not a delivery: "),
            (LINE.replace("e30K", "e3"), "line 1 is not a delivery: `body_b64`: "),
            (LINE.replace("\"at\"", "\"bt\""), "line 1 is not a delivery: missing field `at`"),
            (LINE.replace("2026", "26"), "line 1 is not a delivery: `at`: "),
            (LINE.replace("\"1\"", r#""\n""#), "line 1 is not a delivery: "),
        ] {
            let error = parse_recorded(text.as_bytes()).unwrap_err().to_string();
            assert!(error.starts_with(start), "{error}");
        }
    }
}
