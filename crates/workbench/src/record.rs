//! The JSON of a delivery. All outputs use it: lines of the listener, lists, exports and the inspector.
//!
//! `delivery.schema.json` describes the JSON. Times are UTC with milliseconds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use jiff::Timestamp;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::delivery::{CaptureNumber, Delivery, DeliverySummary, Forward, Source};
use crate::mask;
use crate::verdict::VerdictCode;

/// The JSON Schema (draft 2020-12) of [`DeliveryRecord`].
pub const SCHEMA: &str = include_str!("delivery.schema.json");

/// All values of each header, in order.
pub type HeaderFields<'a> = BTreeMap<&'a str, Vec<String>>;

/// The JSON of a delivery. Lists omit the [`Content`].
#[derive(Debug, Serialize)]
pub struct DeliveryRecord<'a> {
    /// The number of the capture; `None` if the delivery is not stored.
    pub capture: Option<CaptureNumber>,
    pub at: String,
    pub event: Option<&'a str>,
    pub submission_id: Option<&'a str>,
    pub form_id: Option<&'a str>,
    pub verdict: &'static str,
    pub valid: bool,
    pub secret: Option<&'a str>,
    pub age_s: Option<i64>,
    pub attempt: u32,
    pub gap_ms: Option<f64>,
    pub duplicate: bool,
    /// `None` while the delivery is in flight, or if the connection was closed on purpose.
    pub status: Option<u16>,
    pub answered_by: Option<&'static str>,
    pub took_ms: Option<f64>,
    pub source: &'static str,
    /// True if the listener built the delivery from a polled submission.
    pub synthetic: bool,
    pub peer: Option<String>,
    pub method: &'a str,
    pub request_target: Cow<'a, str>,
    pub body_size: u64,
    #[serde(flatten)]
    pub content: Option<Content<'a>>,
}

/// The part of a [`DeliveryRecord`] that lists omit.
#[derive(Debug, Serialize)]
pub struct Content<'a> {
    pub headers: HeaderFields<'a>,
    pub body_sha256: String,
    pub body_b64: String,
    /// The body on one line if the body is JSON. Numbers and the order of members are unchanged.
    pub body: Option<Box<RawValue>>,
    pub forwards: Vec<ForwardRecord<'a>>,
}

/// The JSON of a forward.
#[derive(Debug, Serialize)]
pub struct ForwardRecord<'a> {
    pub url: String,
    pub status: Option<u16>,
    pub error: Option<&'a str>,
    pub took_ms: f64,
    pub headers: Option<HeaderFields<'a>>,
    pub body_b64: Option<String>,
    pub truncated: Option<bool>,
}

impl<'a> DeliveryRecord<'a> {
    /// Creates a record without content. Secrets in the request target are masked unless `reveal`.
    pub fn of_summary(summary: &'a DeliverySummary, reveal: bool) -> Self {
        let (names, response) = (&summary.names, &summary.response);
        Self {
            capture: summary.number,
            at: instant(summary.received_at),
            event: names.event.as_deref(),
            submission_id: names.submission_id.as_deref(),
            form_id: names.form_id.as_deref(),
            verdict: summary.verdict.code.row().name,
            valid: summary.verdict.code == VerdictCode::Valid,
            secret: summary.verdict.secret.as_deref(),
            age_s: summary.verdict.age_secs,
            attempt: summary.attempt.number,
            gap_ms: summary.attempt.gap.map(millis),
            duplicate: summary.attempt.is_duplicate,
            status: response.as_ref().and_then(|response| response.status),
            answered_by: response.as_ref().map(|response| response.answered_by.name()),
            took_ms: response.as_ref().map(|response| millis(response.took)),
            source: summary.source.name(),
            synthetic: summary.source == Source::Poll,
            peer: summary.source.peer().map(|peer| peer.to_string()),
            method: summary.method.as_str(),
            request_target: mask::target(&summary.request_target, reveal),
            body_size: summary.body_size,
            content: None,
        }
    }

    /// Creates a record with content. Signatures, credentials and secrets are masked unless `reveal`, but never in the
    /// body of the delivery.
    pub fn of(delivery: &'a Delivery, reveal: bool) -> Self {
        let content = Content {
            headers: header_fields(&delivery.headers, reveal),
            body_sha256: hex::encode(Sha256::digest(&delivery.body)),
            body_b64: STANDARD.encode(&delivery.body),
            body: json_on_one_line(&delivery.body),
            forwards: delivery.forwards.iter().map(|one| ForwardRecord::of(one, reveal)).collect(),
        };
        Self { content: Some(content), ..Self::of_summary(&delivery.summary, reveal) }
    }
}

impl<'a> ForwardRecord<'a> {
    /// Creates the record. Secrets are masked unless `reveal`.
    pub fn of(forward: &'a Forward, reveal: bool) -> Self {
        let response = forward.result.as_ref().ok();
        Self {
            url: mask::url(&forward.url, reveal),
            status: response.map(|response| response.status),
            error: forward.result.as_ref().err().map(|error| &*error.message),
            took_ms: millis(forward.took),
            headers: response.map(|response| header_fields(&response.headers, reveal)),
            body_b64: response
                .map(|response| STANDARD.encode(mask::response_body(&response.body, reveal))),
            truncated: response.map(|response| response.is_truncated),
        }
    }
}

/// Formats a time with milliseconds.
pub fn instant(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// Returns the values of headers by name. Secrets are masked unless `reveal`.
pub fn header_fields(headers: &HeaderMap, reveal: bool) -> HeaderFields<'_> {
    let mut fields = HeaderFields::new();
    for (name, value) in headers {
        let value = mask::value(name, value, reveal);
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        fields.entry(name.as_str()).or_default().push(value);
    }
    fields
}

/// Returns the milliseconds of a duration, rounded down to a microsecond, which is the precision of the store.
pub fn millis(duration: Duration) -> f64 {
    let micros = Duration::new(duration.as_secs(), duration.subsec_micros() * 1_000);
    (micros.as_secs_f64() * 1e6).round() / 1e3
}

/// Returns true if a body is JSON that common parsers accept: see [`json_on_one_line`].
pub(crate) fn is_json(body: &[u8]) -> bool {
    serde_json::from_slice::<ParsedJson>(body).is_ok()
}

/// Parses JSON as [`serde_json::Value`] does, but keeps no values, because values can use 80 times the size of the
/// text.
struct ParsedJson;

impl<'de> Deserialize<'de> for ParsedJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self)
    }
}

impl<'de> Visitor<'de> for ParsedJson {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self, E> {
        Ok(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<Self>()?.is_some() {}
        Ok(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<Self, Self>()?.is_some() {}
        Ok(self)
    }
}

/// Removes the white space between the tokens of a JSON text. Returns `None` if the body is not JSON, or if common
/// parsers reject it: numbers beyond the range of a double, lone surrogates, or more than 127 levels.
pub fn json_on_one_line(body: &[u8]) -> Option<Box<RawValue>> {
    let text = std::str::from_utf8(body).ok().filter(|_| is_json(body))?;
    let mut line = String::with_capacity(text.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in text.chars() {
        if in_string {
            in_string = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            in_string = c == '"';
        }
        line.push(c);
    }
    RawValue::from_string(line).ok()
}

#[cfg(test)]
pub(crate) mod tests;
