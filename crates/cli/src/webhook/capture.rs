//! A capture: one request that came to a listener, to the byte, and what was made of it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::retry_after;
use http::{HeaderMap, Method, header};
use jiff::Timestamp;

use super::statuses::is_accepted;
use super::verdict::Verdict;

/// The number of a capture, which people name it by; numbers are not used again.
pub(crate) type CaptureNumber = u64;

/// A request that came, and what was made of it.
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    /// None where it could not be kept.
    pub(crate) number: Option<CaptureNumber>,
    pub(crate) received: Arc<Received>,
    /// None while it is being answered, or when that was interrupted.
    pub(crate) outcome: Option<Arc<Outcome>>,
}

impl Capture {
    /// The pause that the answer asked its sender for, where the service obeys it.
    pub(crate) fn asked_for(&self) -> Option<Duration> {
        let outcome = self.outcome.as_deref()?;
        let answer = outcome.decisive()?.answer.as_ref().ok()?;
        let value = answer.headers.get(header::RETRY_AFTER)?;
        let answered = self.received.at.checked_add(outcome.took).ok()?.as_second();
        retry_after(outcome.status?, value.as_bytes(), answered.try_into().unwrap_or_default())
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) at: Timestamp,
    pub(crate) source: Source,
    pub(crate) method: Method,
    /// Path and query, as they came.
    pub(crate) request_target: String,
    /// Values as they came; names in lower case, as HTTP compares them.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) verdict: Verdict,
    /// What the body says it is, where it can be read, verified or not: a stranger's words.
    pub(crate) event: Option<String>,
    pub(crate) submission_id: Option<String>,
    pub(crate) form_id: Option<String>,
    pub(crate) arrival: Arrival,
}

/// Where a capture comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A request, from this address.
    Request(SocketAddr),
    /// Made here of a submission that the API had (`--poll`), and signed here: synthetic.
    Poll,
}

impl Source {
    /// Its names, in stores and JSON; they never change.
    pub(crate) const NAMES: [&str; 2] = ["request", "poll"];

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request(_) => Self::NAMES[0],
            Self::Poll => Self::NAMES[1],
        }
    }

    /// The address it came from.
    pub(crate) fn peer(self) -> Option<SocketAddr> {
        match self {
            Self::Request(peer) => Some(peer),
            Self::Poll => None,
        }
    }
}

/// How often its submission has come to this listener, this time included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// 1 for the first.
    pub(crate) number: u32,
    /// Time since the one before.
    pub(crate) gap: Option<Duration>,
    /// Whether one before was answered with 2xx, so that this one is no retry.
    pub(crate) duplicate: bool,
}

/// What was made of a request.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// The status it was answered with; none when its connection was dropped on purpose.
    pub(crate) status: Option<u16>,
    pub(crate) by: AnsweredBy,
    /// Time from the whole request to the answer.
    pub(crate) took: Duration,
    pub(crate) forwards: Vec<Forward>,
    /// Which of the forwards the answer is that of; none where the answer is of nothing that it was
    /// forwarded to. Two may have the same status, or one be silent and another say 502 itself.
    pub(crate) decided_by: Option<usize>,
}

impl Outcome {
    /// The forward that the answer is that of.
    pub(crate) fn decisive(&self) -> Option<&Forward> {
        self.forwards.get(self.decided_by?)
    }

    /// Whether its sender was told 2xx, and does not send it again.
    pub(crate) fn is_accepted(&self) -> bool {
        self.status.is_some_and(is_accepted)
    }

    /// Whether the listener refused it, so that it was no delivery to whoever waits for one.
    pub(crate) fn is_refusal(&self) -> bool {
        self.by == AnsweredBy::Listener && !self.is_accepted()
    }
}

/// Whose word the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnsweredBy {
    /// The listener's own.
    Listener,
    /// What a fault asked for: `--respond`, `--drop`.
    Fault,
    /// That of what it was forwarded to.
    Target,
    /// Another release kept it, by a name that this one does not know.
    Unknown,
}

impl AnsweredBy {
    /// Everybody who answers, and their names in stores and JSON, which never change.
    pub(crate) const ALL: [(Self, &str); 3] =
        [(Self::Listener, "listener"), (Self::Fault, "fault"), (Self::Target, "target")];

    /// The name.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(known, _)| *known == self).map_or("unknown", |(_, name)| name)
    }

    /// For people, behind a status.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::Listener => "by the listener",
            Self::Fault => "as --respond or --drop asked for",
            Self::Target => "by the target",
            Self::Unknown => "by what this formsvc does not know",
        }
    }

    /// Who has this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == name).map(|(by, _)| *by)
    }
}

/// One forwarding, and what came back.
#[derive(Clone, Debug)]
pub(crate) struct Forward {
    pub(crate) url: String,
    pub(crate) answer: Result<Forwarded, Unanswered>,
    pub(crate) took: Duration,
}

impl Forward {
    /// Whether the target took it.
    pub(crate) fn is_accepted(&self) -> bool {
        self.answer.as_ref().is_ok_and(|answer| is_accepted(answer.status))
    }
}

/// Nothing came back from a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unanswered {
    /// Whether it had not answered in time: the sender is told 504 then, and 502 otherwise.
    pub(crate) timed_out: bool,
    /// Whether something came that is no answer of HTTP, of which the sender is told. Not kept.
    pub(crate) garbled: bool,
    /// Why, for people: what, and what to do about it.
    pub(crate) why: String,
}

/// What a target answered.
#[derive(Clone, Debug)]
pub(crate) struct Forwarded {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The body, or its beginning.
    pub(crate) body: Bytes,
    pub(crate) truncated: bool,
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;
    use crate::webhook::verdict::{Verdict, VerdictCode};

    /// One that came at 08:49:37, and was answered after a second with what one of its forwards said.
    fn answered(status: u16, forwards: Vec<Forward>, decided_by: usize) -> Capture {
        let received = Received {
            at: "1994-11-06T08:49:37Z".parse().unwrap(),
            source: Source::Poll,
            method: Method::POST,
            request_target: "/".to_owned(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age: None },
            event: None,
            submission_id: None,
            form_id: None,
            arrival: Arrival { number: 1, gap: None, duplicate: false },
        };
        let (status, by, took) = (Some(status), AnsweredBy::Target, Duration::from_secs(1));
        let outcome = Outcome { status, by, took, forwards, decided_by: Some(decided_by) };
        Capture { number: None, received: received.into(), outcome: Some(outcome.into()) }
    }

    fn forward(status: u16, asks: &str) -> Forward {
        let asks = HeaderValue::from_str(asks).unwrap();
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, asks)]);
        let answer = Ok(Forwarded { status, headers, body: Bytes::new(), truncated: false });
        Forward { url: "http://localhost:1/".to_owned(), answer, took: Duration::ZERO }
    }

    fn silent() -> Forward {
        let answer =
            Err(Unanswered { timed_out: false, garbled: false, why: "refused".to_owned() });
        Forward { answer, ..forward(503, "1") }
    }

    #[test]
    fn the_answer_that_decided_says_when_to_come_again() {
        let asked = |capture: Capture| capture.asked_for().map(|pause| pause.as_secs());
        assert_eq!(asked(answered(503, vec![forward(503, "9"), forward(503, "7")], 1)), Some(7));
        let date = "Sun, 06 Nov 1994 08:50:08 GMT";
        assert_eq!(asked(answered(429, vec![forward(429, date)], 0)), Some(30));
        assert_eq!(asked(answered(500, vec![forward(500, "7")], 0)), None);
        // The silence of the first decided, whatever the second said.
        assert_eq!(asked(answered(503, vec![silent(), forward(503, "7")], 0)), None);
        assert_eq!(asked(answered(503, Vec::new(), 0)), None);
    }
}
