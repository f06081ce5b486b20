//! A delivery for tests.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::delivery::{
    AnsweredBy, Attempt, Delivery, DeliverySummary, EventNames, Response, Source,
};
use crate::verdict::{Verdict, VerdictCode};

/// Returns a valid delivery of `sub_1` that the listener answered with 200.
pub(super) fn delivery() -> Delivery {
    Delivery {
        summary: DeliverySummary {
            number: Some(7),
            received_at: "2026-01-31T09:30:05.25Z".parse().unwrap(),
            source: Source::Request("127.0.0.1:4000".parse().unwrap()),
            method: Method::POST,
            request_target: "/hook?token=abc".to_owned(),
            body_size: 2,
            verdict: Verdict { code: VerdictCode::Valid, secret: None, age_secs: Some(1) },
            names: EventNames { submission_id: Some("sub_1".to_owned()), ..Default::default() },
            attempt: Attempt::FIRST,
            response: Some(Response {
                status: Some(200),
                answered_by: AnsweredBy::Listener,
                took: Duration::from_millis(41),
            }),
        },
        headers: HeaderMap::new(),
        body: Bytes::from_static(b"{}"),
        forwards: Vec::new(),
        relayed_forward: None,
    }
}
