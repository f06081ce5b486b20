//! One attempt on its way, which hands its outcome on to be recorded.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::time::Instant;

use super::at_hand::Held;
use super::attempt::{self, Attempted, Times};
#[cfg(feature = "otel")]
use super::code::AttemptCode;
use super::desk::{Desk, Outcome, Over};
use super::event_body::event_body;
use super::guard::Target;
use super::observer::AttemptOver;
use super::outcome::{Ending, Standing, verdict};
use crate::fault_point::fault_point;
use crate::request_id::RequestId;
use crate::store::{Claimed, Verdict};
#[cfg(feature = "otel")]
use crate::telemetry::otel;

/// An attempt and all that it takes along.
pub(super) struct Errand<'a> {
    claimed: Claimed,
    body: Bytes,
    target: Arc<Target>,
    times: Times,
    lease_end: Instant,
    desk: &'a Desk,
}

impl<'a> Errand<'a> {
    /// An attempt that begins now.
    pub(super) fn new(held: Held, target: Arc<Target>, desk: &'a Desk) -> Self {
        let Held { mut claimed, lease_end, .. } = held;
        let body = event_body(&claimed);
        // The body has the answers; they are not held twice.
        claimed.data = Bytes::new();
        let times = Times::beginning((desk.equipment.clock)(), desk.equipment.options.timeout);
        Self { claimed, body, target, times, lease_end, desk }
    }

    /// Attempts the delivery and hands its outcome on to be recorded.
    pub(super) async fn run(mut self, over: &mut Over) {
        let (body, resend) = (std::mem::take(&mut self.body), self.claimed.resend);
        let carrier = &*self.desk.equipment.carrier;
        let attempt = attempt::attempt(carrier, &self.target, body, resend, self.times);
        if let Ok(attempted) = AssertUnwindSafe(attempt).catch_unwind().await {
            self.finish(attempted, over).await;
        } else {
            // Its claim runs out; a few such claims are a fault of this service.
            let (delivery, submission) = (self.claimed.key.id(), &self.claimed.submission);
            tracing::error!(%delivery, %submission, "an attempt panicked");
        }
    }

    async fn finish(self, attempted: Attempted, over: &mut Over) {
        let equipment = &self.desk.equipment;
        let standing = Standing::of(&self.claimed);
        let random = (equipment.random)();
        let verdict = verdict(standing, attempted.ending, &equipment.options.schedule, random);
        self.tell(&attempted, verdict);
        equipment.metrics.attempt(attempted.code, attempted.record.duration);
        if let Some(denied) = attempted.denied {
            equipment.metrics.egress_denied(denied.class());
        }
        self.log(&attempted);
        (over.reached, over.took) = (attempted.reached, attempted.record.duration);
        if let Verdict::Retry { after, .. } = verdict {
            over.again = Some(after);
        }
        fault_point!(AfterAnswer);
        let own_fault = attempted.ending == Ending::Ours;
        let is_used = !own_fault || standing.own_fault_uses_attempt();
        let attempt = is_used.then_some(attempted.record);
        let outcome = Outcome { verdict, attempt, own_fault };
        self.desk.settle(&self.claimed, outcome, self.lease_end).await;
    }

    /// One line of an attempt, with what leads from it to the request that a visitor quotes.
    fn log(&self, attempted: &Attempted) {
        let Claimed { key, submission, .. } = &self.claimed;
        let (delivery, status) = (key.id(), attempted.record.status);
        let request_id = RequestId::of_submission(submission).map(tracing::field::display);
        #[cfg(feature = "otel")]
        otel::attempt(otel::AttemptSpan {
            request: RequestId::of_submission(submission),
            delivery: delivery.as_str().to_owned(),
            submission: submission.as_str().to_owned(),
            status,
            code: attempted.code.map(AttemptCode::as_str),
            took: attempted.record.duration,
        });
        let micros = u64::try_from(attempted.record.duration.as_micros()).unwrap_or(u64::MAX);
        let body_problem = attempted.body_problem.as_deref();
        if let Some(code) = attempted.code {
            let code = code.as_str();
            tracing::info!(
                %delivery, %submission, request_id, status, code, body_problem, micros,
                "an attempt failed"
            );
        } else if let Some(body_problem) = body_problem {
            tracing::info!(
                %delivery, %submission, request_id, status, body_problem, micros,
                "delivered; the body of the answer was not read to its end"
            );
        } else {
            tracing::debug!(%delivery, %submission, request_id, status, micros, "delivered");
        }
    }

    fn tell(&self, attempted: &Attempted, verdict: Verdict) {
        let Some(observer) = &self.desk.observer else { return };
        let endpoint = &self.claimed.endpoint;
        observer.is_over(&AttemptOver {
            form: &endpoint.form,
            url: &endpoint.url,
            status: attempted.record.status,
            code: attempted.code,
            verdict,
        });
    }
}
