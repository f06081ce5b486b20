//! One attempt on its way, as a task of its own: nobody waits for it, and it tells when it is over.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::RetrySchedule;
use futures_util::FutureExt;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::attempt::{self, Attempted, Carrier, Times};
#[cfg(feature = "otel")]
use super::code::AttemptCode;
use super::guard::Target;
use super::observer::{AttemptObserver, AttemptOver};
use super::outcome::{Ending, Standing, verdict};
use super::random::Random;
use super::select::{Board, Reached};
use super::settle::Unrecorded;
use crate::fault_point::fault_point;
use crate::metrics::Metrics;
use crate::request_id::RequestId;
use crate::store::{Claimed, EndpointNo, Lane, Settlement, Verdict};
#[cfg(feature = "otel")]
use crate::telemetry::otel;

/// An attempt that is over, as the board hears of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    pub(super) endpoint: EndpointNo,
    pub(super) is_late: bool,
    /// Bytes of answers it had.
    pub(super) bytes: usize,
    pub(super) reached: Reached,
    /// How long it took.
    pub(super) took: Duration,
    /// How long until the delivery is due again, if it will be.
    pub(super) again: Option<Duration>,
}

/// Room that an attempt takes up on the board. When it is dropped, however that comes about, the board
/// hears that the attempt is over.
#[derive(Debug)]
pub(super) struct Slot {
    over: Over,
    tell: mpsc::UnboundedSender<Over>,
}

impl Slot {
    /// Takes a slot for a claimed delivery.
    pub(super) fn take(
        board: &mut Board,
        claimed: &Claimed,
        tell: mpsc::UnboundedSender<Over>,
    ) -> Self {
        let (endpoint, is_late) = (claimed.key.endpoint, claimed.lane != Lane::Fresh);
        board.begin(endpoint, is_late);
        let bytes = claimed.data.len();
        let over = Over {
            endpoint,
            is_late,
            bytes,
            reached: Reached::Unknown,
            took: Duration::ZERO,
            again: None,
        };
        Self { over, tell }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // Fails when nothing more is claimed, and nobody counts.
        let _ = self.tell.send(self.over);
    }
}

/// An attempt and all that it takes along.
pub(super) struct Errand {
    pub(super) claimed: Claimed,
    pub(super) body: Bytes,
    pub(super) target: Arc<Target>,
    pub(super) times: Times,
    pub(super) lease_end: Instant,
    pub(super) carrier: Arc<dyn Carrier>,
    pub(super) schedule: RetrySchedule,
    pub(super) random: Random,
    pub(super) metrics: Arc<Metrics>,
    pub(super) observer: Option<Arc<dyn AttemptObserver>>,
    pub(super) outcomes: mpsc::Sender<Unrecorded>,
    pub(super) slot: Slot,
    /// Lets those who stop the service wait for it.
    pub(super) _alive: mpsc::Sender<()>,
}

impl Errand {
    /// Attempts the delivery and hands its outcome on to be recorded.
    pub(super) async fn run(mut self) {
        let (body, resend) = (self.body.clone(), self.claimed.resend);
        let attempt = attempt::attempt(&*self.carrier, &self.target, body, resend, self.times);
        if let Ok(attempted) = AssertUnwindSafe(attempt).catch_unwind().await {
            self.finish(attempted).await;
        } else {
            // Its claim runs out; after a few such claims it rests.
            let (delivery, submission) = (self.claimed.key.id(), &self.claimed.submission);
            tracing::error!(%delivery, %submission, "an attempt panicked");
        }
    }

    async fn finish(&mut self, attempted: Attempted) {
        let Claimed { key, lease, state, retries, resend, .. } = self.claimed;
        let standing = Standing { state, retries, resend };
        let verdict = verdict(standing, attempted.ending, &self.schedule, (self.random)());
        self.tell(&attempted, verdict);
        self.metrics.attempt(attempted.code, attempted.record.duration);
        if let Some(denied) = attempted.denied {
            self.metrics.egress_denied(denied.class());
        }
        self.log(&attempted);
        (self.slot.over.reached, self.slot.over.took) =
            (attempted.reached, attempted.record.duration);
        if let Verdict::Retry { after, .. } = verdict {
            self.slot.over.again = Some(after);
        }
        fault_point!(AfterAnswer);
        // What this service could not do is no attempt.
        let attempt = (attempted.ending != Ending::Ours).then_some(attempted.record);
        let settlement = Settlement { key, lease, verdict, attempt };
        let unrecorded = Unrecorded::of(&self.claimed, settlement, self.lease_end);
        // The recording task ends after the last attempt; without it the lease runs out.
        let _ = self.outcomes.send(unrecorded).await;
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
        if let Some(code) = attempted.code {
            let code = code.as_str();
            tracing::info!(
                %delivery, %submission, request_id, status, code, micros, "an attempt failed"
            );
        } else {
            tracing::debug!(%delivery, %submission, request_id, status, micros, "delivered");
        }
    }

    fn tell(&self, attempted: &Attempted, verdict: Verdict) {
        let Some(observer) = &self.observer else { return };
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
