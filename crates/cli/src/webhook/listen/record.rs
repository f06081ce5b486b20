//! What happened, for programs: an object of JSON a line. The shapes are told by [`super::schema`].

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::exact_json;
use super::goal::Met;
use super::happened::{Delivered, Refused, Warning};
use super::histogram::Histogram;
use super::tally::Tally;
use crate::webhook::capture::{Capture, CaptureNumber, Forward, Source};
use crate::webhook::fields::{Headers, headers, millis};
use crate::webhook::mask;
use crate::webhook::verdict::VerdictCode;

/// The version of the shapes. Fields may be added to it; none changes its meaning or goes.
pub(crate) const SCHEMA: u32 = 1;

/// A line: what kind it is, and the rest.
#[derive(Serialize)]
struct Record<T> {
    schema: u32,
    r#type: &'static str,
    #[serde(flatten)]
    fields: T,
}

/// The listener answers.
#[derive(Serialize)]
pub(crate) struct Ready<'a> {
    #[serde(serialize_with = "instant")]
    pub(crate) at: Timestamp,
    pub(crate) url: &'a str,
    pub(crate) pid: u32,
    pub(crate) version: &'a str,
    /// The names of the secrets; none verifies nothing.
    pub(crate) secrets: Vec<&'a str>,
    pub(crate) on_invalid: &'a str,
    pub(crate) path: Option<&'a str>,
    pub(crate) targets: Vec<String>,
    /// The folder of the store; none where it is in memory.
    pub(crate) store: Option<String>,
    pub(crate) ui_url: Option<&'a str>,
}

/// A delivery was answered.
#[expect(clippy::struct_excessive_bools, reason = "each is a field of the line")]
#[derive(Serialize)]
struct Delivery<'a> {
    capture: Option<CaptureNumber>,
    #[serde(serialize_with = "instant")]
    at: Timestamp,
    source: &'a str,
    synthetic: bool,
    peer: Option<String>,
    method: &'a str,
    request_target: &'a str,
    headers: Headers<'a>,
    event: Option<&'a str>,
    submission_id: Option<&'a str>,
    form_id: Option<&'a str>,
    verdict: &'a str,
    valid: bool,
    secret: Option<&'a str>,
    age_s: Option<i64>,
    attempt: u32,
    gap_ms: Option<f64>,
    duplicate: bool,
    pause: Option<PauseFields>,
    status: Option<u16>,
    answered_by: &'a str,
    unrouted: bool,
    took_ms: f64,
    body_size: usize,
    body_sha256: String,
    body_b64: String,
    body: Option<Box<RawValue>>,
}

/// The pause before a retry.
#[derive(Serialize)]
struct PauseFields {
    retry: u32,
    waited_ms: f64,
    expected_ms: Option<[f64; 2]>,
    fits: bool,
}

/// A delivery was forwarded.
#[derive(Serialize)]
struct ForwardFields<'a> {
    capture: Option<CaptureNumber>,
    submission_id: Option<&'a str>,
    url: String,
    status: Option<u16>,
    error: Option<&'a str>,
    timed_out: bool,
    took_ms: f64,
}

/// Something to know, or a request that went no further.
#[derive(Serialize)]
struct WarningFields<'a> {
    #[serde(serialize_with = "instant")]
    at: Timestamp,
    code: &'a str,
    message: &'a str,
    method: Option<&'a str>,
    request_target: Option<&'a str>,
    status: Option<u16>,
}

/// The end.
#[derive(Serialize)]
struct SummaryFields<'a> {
    #[serde(serialize_with = "instant")]
    at: Timestamp,
    ended: &'a str,
    received: u64,
    verdicts: BTreeMap<&'a str, u64>,
    duplicates: u64,
    retries: u64,
    refused: u64,
    statuses: BTreeMap<String, u64>,
    dropped: u64,
    answer_ms: Option<Times>,
    forwards_answered: u64,
    forwards_failed: u64,
    unrouted: u64,
    forward_ms: Option<Times>,
    pauses: u64,
    pauses_fitting: u64,
    pauses_fit: Option<bool>,
    expected: Vec<Expected<'a>>,
    met: bool,
}

#[derive(Serialize)]
struct Times {
    p50: f64,
    p95: f64,
    max: f64,
}

#[derive(Serialize)]
struct Expected<'a> {
    what: &'a str,
    met: bool,
}

fn line(r#type: &'static str, fields: impl Serialize) -> String {
    serde_json::to_string(&Record { schema: SCHEMA, r#type, fields })
        .expect("records have text keys and finite numbers")
}

/// The line that says that the listener answers.
pub(crate) fn ready(ready: &Ready<'_>) -> String {
    line("ready", ready)
}

/// The line of a delivery, and one for each time it was forwarded.
pub(crate) fn delivered(told: &Delivered, reveal: bool) -> Vec<String> {
    let capture = &*told.capture;
    let Some(outcome) = &capture.outcome else { return Vec::new() };
    let received = &*capture.received;
    let request_target = mask::target(&received.request_target, reveal);
    let delivery = Delivery {
        capture: capture.number,
        at: received.at,
        source: received.source.name(),
        synthetic: received.source == Source::Poll,
        peer: received.source.peer().map(|peer| peer.to_string()),
        method: received.method.as_str(),
        request_target: &request_target,
        headers: headers(&received.headers, reveal),
        event: received.event.as_deref(),
        submission_id: received.submission_id.as_deref(),
        form_id: received.form_id.as_deref(),
        verdict: received.verdict.code.row().name,
        valid: received.verdict.code == VerdictCode::Valid,
        secret: received.verdict.secret.as_deref(),
        age_s: received.verdict.age,
        attempt: received.arrival.number,
        gap_ms: received.arrival.gap.map(millis),
        duplicate: received.arrival.duplicate,
        pause: told.pause.map(|pause| PauseFields {
            retry: pause.retry,
            waited_ms: millis(pause.waited),
            expected_ms: pause.expected.map(|(least, most)| [millis(least), millis(most)]),
            fits: pause.fits(),
        }),
        status: outcome.status,
        answered_by: outcome.by.name(),
        unrouted: told.is_unrouted,
        took_ms: millis(outcome.took),
        body_size: received.body.len(),
        body_sha256: hex::encode(Sha256::digest(&received.body)),
        body_b64: STANDARD.encode(&received.body),
        body: exact_json::one_line(&received.body),
    };
    let mut lines = vec![line("delivery", delivery)];
    lines.extend(outcome.forwards.iter().map(|forward| forwarded(capture, forward, reveal)));
    lines
}

fn forwarded(capture: &Capture, forward: &Forward, reveal: bool) -> String {
    let (status, error, timed_out) = match &forward.answer {
        Ok(answer) => (Some(answer.status), None, false),
        Err(unanswered) => (None, Some(&*unanswered.why), unanswered.timed_out),
    };
    let fields = ForwardFields {
        capture: capture.number,
        submission_id: capture.received.submission_id.as_deref(),
        url: mask::url(&forward.url, reveal),
        status,
        error,
        timed_out,
        took_ms: millis(forward.took),
    };
    line("forward", fields)
}

/// The line of a request that went no further.
pub(crate) fn refused(refused: &Refused, reveal: bool) -> String {
    let request_target = mask::target(&refused.request_target, reveal);
    let fields = WarningFields {
        at: refused.at,
        code: refused.refusal.code(),
        message: refused.refusal.message(),
        method: Some(refused.method.as_str()),
        request_target: Some(&request_target),
        status: Some(refused.refusal.status()),
    };
    line("warning", fields)
}

/// The line of something to know.
pub(crate) fn warned(warning: &Warning, at: Timestamp) -> String {
    let (code, message) = (warning.code.name(), &*warning.message);
    line(
        "warning",
        WarningFields { at, code, message, method: None, request_target: None, status: None },
    )
}

/// The line at the end.
pub(crate) fn summary(tally: &Tally, ended: &str, met: &[Met], at: Timestamp) -> String {
    let statuses = tally.answers.iter().filter_map(|(status, count)| Some(((*status)?, *count)));
    let fields = SummaryFields {
        at,
        ended,
        received: tally.received,
        verdicts: tally.verdicts().map(|(code, count)| (code.row().name, count)).collect(),
        duplicates: tally.duplicates,
        retries: tally.retries,
        refused: tally.refused,
        statuses: statuses.map(|(status, count)| (status.to_string(), count)).collect(),
        dropped: tally.answers.get(&None).copied().unwrap_or_default(),
        answer_ms: times(&tally.answer_time),
        forwards_answered: tally.forwards_answered,
        forwards_failed: tally.forwards_failed,
        unrouted: tally.unrouted,
        forward_ms: times(&tally.forward_time),
        pauses: tally.pauses.seen,
        pauses_fitting: tally.pauses.fitting,
        pauses_fit: tally.pauses.fit(),
        expected: met.iter().map(|met| Expected { what: &met.what, met: met.met }).collect(),
        met: met.iter().all(|met| met.met),
    };
    line("summary", fields)
}

fn times(histogram: &Histogram) -> Option<Times> {
    let (p50, p95) = (histogram.percentile(50)?, histogram.percentile(95)?);
    let max = histogram.longest();
    Some(Times { p50: millis(p50), p95: millis(p95), max: millis(max) })
}

/// An instant with milliseconds, as the service writes them.
fn instant<S: Serializer>(at: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(&format_args!("{at:.3}"))
}
