//! One delivery, whole: what came, what it is worth, what was answered, and its other attempts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Desk;
use super::attempts::{Attempt, attempts};
use super::reply::Problem;
use super::row::Row;
use crate::webhook::advice::{Advice, advice};
use crate::webhook::attempts::answered;
use crate::webhook::capture::{Capture, CaptureNumber, Forward, Forwarded, Source};
use crate::webhook::fields::millis;
use crate::webhook::mask;
use crate::webhook::store::Listed;
use crate::webhook::tone::Tone;

/// A delivery, as the page has it. Its body is asked for apart.
#[derive(Debug, Serialize)]
pub(super) struct Detail {
    row: Row,
    from: String,
    content_type: Option<String>,
    advice: Advice,
    headers: Vec<ShownHeader>,
    sha256: String,
    forwards: Vec<ShownForward>,
    /// In the order they came.
    attempts: Vec<Attempt>,
    attempts_cut: bool,
}

/// A header, as the page has it.
#[derive(Debug, Serialize)]
pub(super) struct ShownHeader {
    name: String,
    value: String,
    masked: bool,
}

/// A forwarding: what came back, or why nothing did.
#[derive(Debug, Serialize)]
struct ShownForward {
    url: String,
    /// Whether its sender was answered this.
    decided: bool,
    answer: Option<ShownAnswer>,
    silence: Option<ShownSilence>,
}

/// What was answered.
#[derive(Debug, Serialize)]
pub(super) struct ShownAnswer {
    pub(super) status: u16,
    pub(super) tone: Tone,
    pub(super) took_ms: f64,
    pub(super) headers: Vec<ShownHeader>,
    /// In base64, since it can be anything.
    pub(super) body: String,
    /// Whether something of the body is not shown.
    pub(super) masked: bool,
    pub(super) truncated: bool,
}

impl ShownAnswer {
    /// A whole one, without what may not be shown: an answer can say again what its sender was asked with.
    pub(super) fn new(status: u16, headers: &HeaderMap, body: &[u8], reveal: bool) -> Self {
        let shown = mask::answer(body, reveal);
        Self {
            status,
            tone: Tone::of_status(Some(status)),
            took_ms: 0.0,
            headers: shown_headers(headers, reveal),
            masked: *shown != *body,
            body: STANDARD.encode(shown),
            truncated: false,
        }
    }
}

/// Why nothing was answered.
#[derive(Debug, Serialize)]
pub(super) struct ShownSilence {
    pub(super) why: String,
    pub(super) timed_out: bool,
    pub(super) took_ms: f64,
}

/// The capture of a number.
pub(super) async fn capture(desk: &Desk, number: CaptureNumber) -> Result<Capture, Problem> {
    desk.inspected.store.get(number).await?.ok_or_else(|| {
        Problem::new(StatusCode::NOT_FOUND, format!("There is no delivery {number}."))
            .hint("The oldest go when the store is full, and all of them after a while.")
    })
}

pub(super) async fn detail(desk: &Desk, number: CaptureNumber) -> Result<Detail, Problem> {
    let capture = capture(desk, number).await?;
    let reveal = desk.inspected.reveal;
    let (attempts, attempts_cut) = others(desk, &capture).await?;
    let received = &capture.received;
    // No command finds the number of a store in memory.
    let number = capture.number.filter(|_| desk.inspected.store.is_on_disk());
    let content_type = received.headers.get(header::CONTENT_TYPE);
    let outcome = capture.outcome.as_ref();
    let forwards = outcome.map_or(&[][..], |outcome| &outcome.forwards);
    let decided_by = outcome.and_then(|outcome| outcome.decided_by);
    Ok(Detail {
        row: Row::of(Listed::from(&capture), reveal),
        from: match received.source {
            Source::Request(address) => address.to_string(),
            Source::Poll => "--poll".to_owned(),
        },
        content_type: content_type.map(|kind| text(kind.as_bytes())),
        advice: advice(&received.verdict, number),
        headers: shown_headers(&received.headers, reveal),
        sha256: hex::encode(Sha256::digest(&received.body)),
        forwards: forwards
            .iter()
            .enumerate()
            .map(|(at, forward)| shown_forward(forward, decided_by == Some(at), reveal))
            .collect(),
        attempts,
        attempts_cut,
    })
}

/// The attempts of the submission of a capture, and whether there were more.
async fn others(desk: &Desk, capture: &Capture) -> Result<(Vec<Attempt>, bool), Problem> {
    let (answered, cut) = answered(desk.inspected.store.captures(), capture).await?;
    let inspected = &desk.inspected;
    Ok((attempts(&inspected.schedule, answered, inspected.reveal), cut))
}

fn shown_forward(forward: &Forward, decided: bool, reveal: bool) -> ShownForward {
    let (answer, silence) = match &forward.answer {
        Ok(Forwarded { status, headers, body, truncated }) => {
            let shown = ShownAnswer::new(*status, headers, body, reveal);
            let answer =
                ShownAnswer { took_ms: millis(forward.took), truncated: *truncated, ..shown };
            (Some(answer), None)
        }
        Err(unanswered) => {
            let (why, timed_out) = (unanswered.why.clone(), unanswered.timed_out);
            (None, Some(ShownSilence { why, timed_out, took_ms: millis(forward.took) }))
        }
    };
    ShownForward { url: mask::url(&forward.url, reveal), decided, answer, silence }
}

/// Headers for the page: what could be sent again or lets somebody in is masked, unless it may be seen.
pub(super) fn shown_headers(headers: &HeaderMap, reveal: bool) -> Vec<ShownHeader> {
    let shown = |(name, value): (&HeaderName, &HeaderValue)| {
        let masked = !reveal && mask::hides(name, value);
        let shown = if masked { mask::value(name, value) } else { value.clone() };
        ShownHeader { name: name.as_str().to_owned(), value: text(shown.as_bytes()), masked }
    };
    headers.iter().map(shown).collect()
}

/// Bytes that are most often text, as text.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
