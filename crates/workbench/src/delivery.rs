//! The domain types: a delivery, as it arrived at a listener, and its outcome.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use jiff::Timestamp;

use crate::verdict::Verdict;

/// The number of a stored delivery, which users type: 1 or more, as SQLite has it. Numbers are never
/// reused.
pub type CaptureNumber = i64;

/// A delivery with its headers, body and forwards.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub summary: DeliverySummary,
    /// Names in lower case, values byte for byte.
    pub headers: HeaderMap,
    pub body: Bytes,
    /// One entry per target, in the order of the targets.
    pub forwards: Vec<Forward>,
    /// Index of the forward whose response was relayed to the sender.
    pub relayed_forward: Option<usize>,
}

/// A delivery without headers, body and forwards, as lists have it.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliverySummary {
    /// None if it is not stored.
    pub number: Option<CaptureNumber>,
    pub received_at: Timestamp,
    pub source: Source,
    pub method: Method,
    /// Path and query, unchanged.
    pub request_target: String,
    /// Bytes.
    pub body_size: u64,
    pub verdict: Verdict,
    /// The names that the body contains. Untrusted unless the verdict is valid.
    pub names: EventNames,
    pub attempt: Attempt,
    /// None while the delivery is in flight, or after a crash.
    pub response: Option<Response>,
}

/// Names that a body contains.
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
    /// Built and signed here from a submission that the API returned.
    Poll,
}

/// The position of a delivery among the deliveries of its submission to this listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// 1 for the first.
    pub number: u32,
    /// Time since the previous attempt.
    pub gap: Option<Duration>,
    /// True if an earlier attempt was answered with 2xx.
    pub is_duplicate: bool,
}

/// The listener's response to a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response {
    /// None if the connection was closed on purpose.
    pub status: Option<u16>,
    pub answered_by: AnsweredBy,
    /// Time from the complete request to the response.
    pub took: Duration,
}

/// The part of the listener that decided the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsweredBy {
    Listener,
    /// An injected fault.
    Fault,
    Target,
    /// The listener, because no route matched the delivery.
    NoRoute,
}

/// A delivery that was sent on to a target, and the result.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// Without user name and password.
    pub url: String,
    pub result: Result<TargetResponse, ForwardError>,
    pub took: Duration,
}

/// The response of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetResponse {
    pub status: u16,
    pub headers: HeaderMap,
    /// The first bytes of the body if `is_truncated`, else all of it.
    pub body: Bytes,
    pub is_truncated: bool,
}

/// A target gave no usable response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardError {
    pub kind: ForwardErrorKind,
    /// Cause and advice.
    pub message: String,
}

/// The kinds of [`ForwardError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardErrorKind {
    /// The sender gets 502.
    Unreachable,
    /// The sender gets 504.
    Timeout,
    /// The target's bytes are not HTTP. The sender gets 502.
    NotHttp,
}

impl Attempt {
    /// The first attempt.
    pub const FIRST: Self = Self { number: 1, gap: None, is_duplicate: false };
}

impl Source {
    /// The names in JSON and in the store.
    pub const NAMES: [&str; 2] = ["request", "poll"];

    /// Returns the name.
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

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(by, _)| *by == self).expect("every value has a name").1
    }

    /// Returns the value with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(by, _)| *by)
    }
}

impl Response {
    /// Returns true if the sender does not retry.
    pub fn is_success(&self) -> bool {
        self.status.is_some_and(is_success)
    }

    /// Returns true if the listener itself refused the delivery.
    pub fn is_refusal(&self) -> bool {
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
