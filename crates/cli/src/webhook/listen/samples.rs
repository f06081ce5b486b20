//! Deliveries for tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Method};
use jiff::Timestamp;

use super::faults::Faults;
use super::happened::Delivered;
use super::intake::{Limits, Rules};
use super::names::Names;
use super::policy::OnInvalid;
use crate::webhook::capture::{AnsweredBy, Arrival, Capture, Forward, Outcome, Received, Source};
use crate::webhook::verdict::{Verdict, VerdictCode};

/// When samples came.
pub(super) const AT: &str = "2026-01-31T09:30:05.250Z";

/// A delivery of a submission, valid and answered 200 unless it is changed.
#[derive(Clone)]
pub(super) struct Sample {
    pub(super) number: Option<u64>,
    pub(super) received: Received,
    pub(super) outcome: Outcome,
}

impl Sample {
    pub(super) fn of(body: &'static str) -> Self {
        let Names { event, submission_id, form_id } = Names::of(None, body.as_bytes());
        let received = Received {
            at: AT.parse::<Timestamp>().unwrap(),
            source: Source::Request(SocketAddr::from((Ipv4Addr::LOCALHOST, 4_000))),
            method: Method::POST,
            request_target: "/".to_owned(),
            headers: HeaderMap::new(),
            body: body.into(),
            verdict: Verdict { code: VerdictCode::Valid, secret: Some("new".into()), age: Some(1) },
            event,
            submission_id,
            form_id,
            arrival: Arrival { number: 1, gap: None, duplicate: false },
        };
        let took = Duration::from_millis(41);
        let (status, forwards) = (Some(200), Vec::<Forward>::new());
        let (by, decided_by) = (AnsweredBy::Listener, None);
        let outcome = Outcome { status, by, took, forwards, decided_by };
        Self { number: None, received, outcome }
    }

    pub(super) fn verdict(mut self, code: VerdictCode, age: Option<i64>) -> Self {
        self.received.verdict = Verdict { code, secret: None, age };
        self
    }

    pub(super) fn attempt(mut self, number: u32, gap: u64, duplicate: bool) -> Self {
        let gap = Some(Duration::from_secs(gap));
        self.received.arrival = Arrival { number, gap, duplicate };
        self
    }

    pub(super) fn answered(mut self, status: Option<u16>, by: AnsweredBy) -> Self {
        (self.outcome.status, self.outcome.by) = (status, by);
        self
    }

    pub(super) fn told(self) -> Delivered {
        let (received, outcome) = (Arc::new(self.received), Some(Arc::new(self.outcome)));
        let capture = Arc::new(Capture { number: self.number, received, outcome });
        Delivered { capture, pause: None, warnings: Vec::new(), is_unrouted: false }
    }
}

/// Rules without a secret, under which everything is taken.
pub(super) fn rules() -> Rules {
    let (read, connections) = (Duration::from_secs(5), 8);
    Rules {
        limits: Limits { body: 1 << 20, read, connections, in_flight: 2, deliveries: None },
        path: None,
        verifier: None,
        on_invalid: OnInvalid::Reject,
        faults: Faults::default(),
        forwarder: None,
    }
}

/// The body of a delivery of `sub_1`.
pub(super) const BODY: &str = r#"{"event":"submission.created","submission_id":"sub_1","form_id":"frm_1","form_title":"T","data":{"Name":"Ada","n":3},"created_at":"2026-01-31T09:30:00.000Z"}"#;
