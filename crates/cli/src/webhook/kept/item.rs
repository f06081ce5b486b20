//! Captures as JSON, which columns follow from.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::context::to_json;
use crate::output::Field;
use crate::webhook::capture::{Capture, Forward, Source};
use crate::webhook::fields::{Headers, headers, millis};
use crate::webhook::listen::exact_json;
use crate::webhook::mask;
use crate::webhook::store::Listed;
use crate::webhook::verdict::VerdictCode;

/// The fields of a capture in lists.
pub(crate) const FIELDS: &[Field] = &[
    Field::new("capture"),
    Field::recent("at"),
    // Before what is long: it is what a list is most often looked at for.
    Field::status("verdict"),
    Field::status("status"),
    Field::mark("submission_id"),
    Field::new("attempt"),
    Field::new("event").last(),
    Field::mark("form_id").last(),
    Field::new("valid").json_only(),
    Field::new("duplicate").json_only(),
    Field::new("answered_by").json_only(),
    Field::new("took_ms").last(),
    Field::new("body_size").last(),
    Field::new("method").json_only(),
    Field::new("request_target").json_only(),
    Field::new("peer").json_only(),
    Field::new("source").json_only(),
    Field::new("synthetic").json_only(),
    Field::new("secret").json_only(),
    Field::new("age_s").json_only(),
    Field::new("gap_ms").json_only(),
];

/// The fields of a whole capture.
pub(crate) const WHOLE_FIELDS: &[Field] = &{
    const MORE: [Field; 5] = [
        Field::new("headers").json_only(),
        Field::object("body"),
        Field::new("body_b64").json_only(),
        Field::new("body_sha256").json_only(),
        Field::new("forwards").json_only(),
    ];
    let mut all = [FIELDS[0]; FIELDS.len() + MORE.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < FIELDS.len() { FIELDS[at] } else { MORE[at - FIELDS.len()] };
        at += 1;
    }
    all
};

/// A capture without headers and bodies.
#[derive(Debug, Serialize)]
pub(crate) struct Item<'a> {
    capture: Option<u64>,
    at: String,
    event: Option<&'a str>,
    form_id: Option<&'a str>,
    submission_id: Option<&'a str>,
    verdict: &'static str,
    valid: bool,
    attempt: u32,
    duplicate: bool,
    /// None while it is being answered, or where its connection was dropped.
    status: Option<u16>,
    answered_by: Option<&'static str>,
    took_ms: Option<f64>,
    body_size: u64,
    method: &'a str,
    request_target: Cow<'a, str>,
    peer: Option<String>,
    source: &'static str,
    synthetic: bool,
    secret: Option<&'a str>,
    age_s: Option<i64>,
    gap_ms: Option<f64>,
}

impl<'a> Item<'a> {
    /// Of a capture; without what lets somebody in where its request went, unless everything is revealed.
    pub(crate) fn of(listed: &'a Listed, reveal: bool) -> Self {
        let outcome = listed.outcome.as_ref();
        Self {
            capture: listed.number,
            at: format!("{:.3}", listed.at),
            event: listed.event.as_deref(),
            form_id: listed.form_id.as_deref(),
            submission_id: listed.submission_id.as_deref(),
            verdict: listed.verdict.code.row().name,
            valid: listed.verdict.code == VerdictCode::Valid,
            attempt: listed.arrival.number,
            duplicate: listed.arrival.duplicate,
            status: outcome.and_then(|outcome| outcome.status),
            answered_by: outcome.map(|outcome| outcome.by.name()),
            took_ms: outcome.map(|outcome| millis(outcome.took)),
            body_size: listed.length,
            method: listed.method.as_str(),
            request_target: mask::target(&listed.request_target, reveal),
            peer: listed.source.peer().map(|peer| peer.to_string()),
            source: listed.source.name(),
            synthetic: listed.source == Source::Poll,
            secret: listed.verdict.secret.as_deref(),
            age_s: listed.verdict.age,
            gap_ms: listed.arrival.gap.map(millis),
        }
    }
}

#[derive(Serialize)]
struct Rest<'a> {
    headers: Headers<'a>,
    /// As it is, where it is JSON.
    body: Option<Box<RawValue>>,
    body_b64: String,
    body_sha256: String,
    forwards: Vec<Answered<'a>>,
}

#[derive(Serialize)]
struct Answered<'a> {
    url: String,
    status: Option<u16>,
    error: Option<&'a str>,
    timed_out: bool,
    took_ms: f64,
    headers: Option<Headers<'a>>,
    body_b64: Option<String>,
    truncated: Option<bool>,
}

/// A whole capture, on one line.
pub(crate) fn whole(capture: &Capture, reveal: bool) -> Box<RawValue> {
    let (listed, received) = (Listed::from(capture), &capture.received);
    let forwards = capture.outcome.iter().flat_map(|outcome| &outcome.forwards);
    let rest = Rest {
        headers: headers(&received.headers, reveal),
        body: exact_json::one_line(&received.body),
        body_b64: STANDARD.encode(&received.body),
        body_sha256: hex::encode(Sha256::digest(&received.body)),
        forwards: forwards.map(|forward| answered(forward, reveal)).collect(),
    };
    let (item, rest) = (to_json(&Item::of(&listed, reveal)), to_json(&rest));
    // Not flattened: a body would be parsed and printed anew.
    let json = format!("{},{}", &item[..item.len() - 1], &rest[1..]);
    RawValue::from_string(json).expect("two objects are one when put together")
}

/// The text of a body, if it is text.
pub(crate) fn body_text(body: &[u8]) -> Option<&str> {
    std::str::from_utf8(body).ok().filter(|text| !text.contains('\0'))
}

fn answered(forward: &Forward, reveal: bool) -> Answered<'_> {
    let (answer, failed) = (forward.answer.as_ref().ok(), forward.answer.as_ref().err());
    Answered {
        url: mask::url(&forward.url, reveal),
        status: answer.map(|answer| answer.status),
        error: failed.map(|failed| &*failed.why),
        timed_out: failed.is_some_and(|failed| failed.timed_out),
        took_ms: millis(forward.took),
        headers: answer.map(|answer| headers(&answer.headers, reveal)),
        body_b64: answer.map(|answer| STANDARD.encode(mask::answer(&answer.body, reveal))),
        truncated: answer.map(|answer| answer.truncated),
    }
}
