//! Captures for tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method};
use jiff::{SignedDuration, Timestamp};

use super::row::Row;
use crate::webhook::capture::{AnsweredBy, Arrival, Capture, Forward, Outcome, Received, Source};
use crate::webhook::store::{Listed, Store};
use crate::webhook::verdict::{Verdict, VerdictCode};

/// When the first one came.
pub(super) const AT: &str = "2026-01-31T09:30:05.250Z";

/// A delivery, valid and answered 200 unless it is changed.
#[derive(Clone)]
pub(super) struct Sample {
    pub(super) received: Received,
    pub(super) outcome: Option<Outcome>,
}

impl Sample {
    /// Of a submission; of none that can be known if it has no id.
    pub(super) fn of(submission: &str) -> Self {
        let received = Received {
            at: AT.parse::<Timestamp>().unwrap(),
            source: Source::Request(SocketAddr::from((Ipv4Addr::LOCALHOST, 4_000))),
            method: Method::POST,
            request_target: "/hook".to_owned(),
            headers: HeaderMap::new(),
            body: format!(r#"{{"submission_id":"{submission}","data":{{"Name":"Ada"}}}}"#).into(),
            verdict: Verdict { code: VerdictCode::Valid, secret: Some("new".into()), age: Some(1) },
            event: Some("submission.created".to_owned()),
            submission_id: (!submission.is_empty()).then(|| submission.to_owned()),
            form_id: Some("frm_1".to_owned()),
            arrival: Arrival { number: 1, gap: None, duplicate: false },
        };
        let took = Duration::from_millis(41);
        let (by, forwards) = (AnsweredBy::Listener, Vec::new());
        Self {
            received,
            outcome: Some(Outcome { status: Some(200), by, took, forwards, decided_by: None }),
        }
    }

    pub(super) fn verdict(mut self, code: VerdictCode, age: Option<i64>) -> Self {
        self.received.verdict = Verdict { code, secret: None, age };
        self
    }

    pub(super) fn answered(mut self, status: Option<u16>, by: AnsweredBy) -> Self {
        self.outcome = self.outcome.map(|outcome| Outcome { status, by, ..outcome });
        self
    }

    pub(super) fn unanswered(self) -> Self {
        Self { outcome: None, ..self }
    }

    pub(super) fn target(mut self, target: &str) -> Self {
        target.clone_into(&mut self.received.request_target);
        self
    }

    pub(super) fn body(mut self, body: &'static [u8]) -> Self {
        self.received.body = body.into();
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.received.headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    pub(super) fn forwarded(mut self, forward: Forward) -> Self {
        if let Some(outcome) = &mut self.outcome {
            outcome.forwards.push(forward);
        }
        self
    }

    pub(super) fn attempt(mut self, number: u32, gap: u64, duplicate: bool) -> Self {
        let gap = Some(Duration::from_secs(gap));
        self.received.arrival = Arrival { number, gap, duplicate };
        self
    }

    /// As it comes to a listener, a second after the one of the number before.
    pub(super) fn numbered(mut self, number: u64) -> Arc<Capture> {
        self.received.at += SignedDuration::from_secs(i64::try_from(number).unwrap());
        let (received, outcome) = (Arc::new(self.received), self.outcome.map(Arc::new));
        Arc::new(Capture { number: Some(number), received, outcome })
    }

    /// Kept in a store.
    pub(super) async fn kept(self, store: &Store) -> Arc<Capture> {
        let (received, outcome) = (Arc::new(self.received), self.outcome.map(Arc::new));
        let number = store.keep(Arc::clone(&received)).await.unwrap();
        if let Some(outcome) = &outcome {
            store.settle(number, Arc::clone(outcome));
        }
        Arc::new(Capture { number: Some(number), received, outcome })
    }
}

/// The row of a capture of this number.
pub(super) fn row(number: u64) -> Row {
    let capture = Sample::of(&format!("sub_{number}")).numbered(number);
    Row::from(&Listed::from(&*capture))
}
