//! The domain types: a delivery that arrived at a listener, and its outcome.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use formsvc_contract::send::Answer;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::verdict::Verdict;

/// The number of a stored delivery, from 1, by which users refer to it. The type is `i64`, because the number is the
/// row id of SQLite. Numbers are never reused.
pub type CaptureNumber = i64;

/// A delivery with its headers, body and forwards.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub summary: DeliverySummary,
    /// The names are in lower case. The values are the received bytes.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// One entry per target, in the order of the targets.
    pub forwards: Vec<Forward>,
    /// Index of the forward whose response was relayed to the sender.
    pub relayed_forward: Option<usize>,
}

impl Delivery {
    /// Returns the response of a target that was relayed to the sender.
    pub fn relayed_response(&self) -> Option<&TargetResponse> {
        self.relayed_result()?.as_ref().ok()
    }

    /// Returns the result of the forward that decided the response.
    pub(crate) fn relayed_result(&self) -> Option<&Result<TargetResponse, ForwardError>> {
        Some(&self.forwards.get(self.relayed_forward?)?.result)
    }
}

/// The part of a delivery that is shown in a list: everything except headers, body and forwards.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliverySummary {
    /// The number of the capture; `None` if the delivery is not stored.
    pub number: Option<CaptureNumber>,
    pub received_at: Timestamp,
    pub source: Source,
    pub method: Method,
    /// Path and query, unchanged.
    pub request_target: String,
    /// Size of the body, in bytes.
    pub body_size: u64,
    pub verdict: Verdict,
    /// The event and the ids in the body. The values are untrusted unless the verdict is valid.
    pub names: EventNames,
    pub attempt: Attempt,
    /// `None` while the delivery is in flight, or if the listener crashed before it responded.
    pub response: Option<Response>,
}

/// Longest event or id, in bytes. Longer values are ignored.
const MAX_NAME_LEN: usize = 256;

/// The event and the ids in a body. The values are untrusted, because anyone can send an unsigned body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventNames {
    pub event: Option<String>,
    pub submission_id: Option<String>,
    pub form_id: Option<String>,
}

/// The origin of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A request from this address.
    Request(SocketAddr),
    /// The listener built and signed the delivery from a submission that the API returned.
    Poll,
}

/// The position of a delivery among this listener's deliveries of the same submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Counted from 1.
    pub number: u32,
    /// Time since the previous attempt.
    pub gap: Option<Duration>,
    /// True if the listener responded to an earlier attempt with 2xx.
    pub is_duplicate: bool,
}

/// The listener's response to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// `None` if the connection was closed on purpose.
    pub status: Option<u16>,
    pub answered_by: AnsweredBy,
    /// Time from the complete request to the response.
    pub took: Duration,
}

/// The part of the listener that decided the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    Listener,
    /// A fault that the user configured.
    Fault,
    Target,
    /// The listener, because no route matched the delivery.
    NoRoute,
}

/// A request that forwarded a delivery to a target, and its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// The URL of the request, without user name and password.
    pub url: String,
    pub result: Result<TargetResponse, ForwardError>,
    pub took: Duration,
}

/// The response of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The complete body, or only its first bytes if `is_truncated`.
    pub body: Bytes,
    pub is_truncated: bool,
}

/// The error of a forward without a usable response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardError {
    pub kind: ForwardErrorKind,
    /// The cause, followed by advice if there is any.
    pub message: String,
}

/// The kinds of [`ForwardError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardErrorKind {
    /// No complete response for another reason: no connection, a certificate that is not trusted, a refusal by the proxy,
    /// or a connection that the target closed early. The sender gets 502.
    Unreachable,
    /// Nothing was sent, because too many deliveries already wait for this target. The sender gets 503.
    Overloaded,
    /// The target did not respond in time. The sender gets 504.
    Timeout,
    /// The target's bytes are not HTTP. The sender gets 502.
    NotHttp,
}

impl From<Answer> for TargetResponse {
    fn from(answer: Answer) -> Self {
        Self {
            status: answer.status.as_u16(),
            headers: answer.headers,
            body: answer.body,
            is_truncated: answer.truncated,
        }
    }
}

impl Attempt {
    /// The first attempt.
    pub const FIRST: Self = Self { number: 1, gap: None, is_duplicate: false };
}

impl EventNames {
    /// Returns the event and the ids in a body. All are `None` if the body is not a JSON object.
    pub fn of_body(body: &[u8]) -> Self {
        // The body is not parsed into a tree of values, which can use 80 times the size of an untrusted body.
        #[derive(Deserialize)]
        struct Members<'b> {
            #[serde(borrow)]
            event: Option<&'b RawValue>,
            #[serde(borrow)]
            submission_id: Option<&'b RawValue>,
            #[serde(borrow)]
            form_id: Option<&'b RawValue>,
        }
        let name = |value: Option<&RawValue>| {
            let name: String = serde_json::from_str(value?.get()).ok()?;
            (1..=MAX_NAME_LEN).contains(&name.len()).then_some(name)
        };
        // The members could also be read from an array, by their positions.
        let is_object = body.trim_ascii_start().starts_with(b"{");
        let members = serde_json::from_slice(body).ok().filter(|_| is_object);
        let Some(Members { event, submission_id, form_id }) = members else {
            return Self::default();
        };
        Self { event: name(event), submission_id: name(submission_id), form_id: name(form_id) }
    }
}

impl Source {
    /// All names in JSON and in the store.
    pub const NAMES: [&str; 2] = ["request", "poll"];

    pub fn name(self) -> &'static str {
        match self {
            Self::Request(_) => Self::NAMES[0],
            Self::Poll => Self::NAMES[1],
        }
    }

    /// Returns the address of the sender.
    pub fn peer(self) -> Option<SocketAddr> {
        match self {
            Self::Request(peer) => Some(peer),
            Self::Poll => None,
        }
    }
}

impl AnsweredBy {
    /// All values with their names in JSON and in the store.
    pub const ALL: [(Self, &str); 4] = [
        (Self::Listener, "listener"),
        (Self::Fault, "fault"),
        (Self::Target, "target"),
        (Self::NoRoute, "no_route"),
    ];

    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(by, _)| *by == self).expect("every value has a name").1
    }

    /// Returns the value with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(by, _)| *by)
    }
}

impl Response {
    /// Returns true if the status is 2xx, after which the sender does not retry.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(is_success)
    }

    /// Returns true if the listener itself answered with an error.
    pub fn is_rejection(&self) -> bool {
        self.answered_by == AnsweredBy::Listener && !self.is_success()
    }
}

impl Forward {
    /// Returns true if the target answered with 2xx.
    pub fn is_success(&self) -> bool {
        self.result.as_ref().is_ok_and(|response| is_success(response.status))
    }
}

/// Returns true for 2xx, which ends the retries of a delivery (SPEC §6).
pub fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_an_object_are_names() {
        let body = br#"{"event":"submission.created","submission_id":7,"form_id":"frm_\u00e9"}"#;
        let names = EventNames::of_body(body);
        assert_eq!(names.event.as_deref(), Some("submission.created"));
        assert_eq!((names.submission_id, names.form_id.as_deref()), (None, Some("frm_é")));
        let long = format!(r#"{{"event":"{}"}}"#, "x".repeat(MAX_NAME_LEN + 1));
        let list = br#"["submission.created","sub_1","frm_1"]"#;
        for other in
            [&b""[..], b"[]", list, b"7", b"{", b"\xff", br#"{"event":""}"#, long.as_bytes()]
        {
            assert_eq!(EventNames::of_body(other), EventNames::default());
        }
    }
}
