//! Handles a delivery, from the complete request to the response.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use formsvc_receiver::Verifier;
use futures_util::FutureExt as _;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, broadcast};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::permits::Permits;
use super::policy::{Fault, Faults, OnInvalid};
use super::response::{self, Refusal};
use crate::attempts::AttemptCounter;
use crate::delivery::{
    AnsweredBy, Attempt, Delivery, DeliverySummary, EventNames, Response, Source,
};
use crate::forward::{Forwarded, Forwarder, relay};
use crate::store::{CaptureStore, StoreError};
use crate::verdict::{Verdict, verify};
use crate::warning::{Warning, WarningCode, WarningLimiter, with_causes};

/// Longest wait of a delivery for room in the channel of events.
const EVENT_WAIT: Duration = Duration::from_secs(1);
/// Capacity of the channel of events, in addition to one event for each delivery in flight. Requests that are no
/// delivery, and deliveries that are rejected, use only this part of the channel, so that they do not delay other
/// deliveries.
const WAITING_EVENTS: usize = 64;
/// Unit of the permits for memory, in bytes.
const MEMORY_UNIT: usize = 1 << 10;
/// Smallest limit of the memory for bodies, in bytes.
const MIN_MEMORY: usize = 256 << 20;
/// Maximum number of rejected deliveries in flight. Rejected deliveries do not count for [`ListenLimits::in_flight`],
/// so that invalid deliveries do not block other deliveries.
const MAX_REJECTED: usize = 16;
/// Maximum number of messages by which a subscriber may lag behind. A delivery is published twice.
const BROADCAST_LEN: usize = 256;

#[derive(Debug, Default)]
pub struct ListenRules {
    /// The only path that accepts deliveries; `None` accepts any path.
    pub path: Option<String>,
    /// Verifies deliveries. If `None`, every delivery is trusted.
    pub verifier: Option<Verifier>,
    pub on_invalid: OnInvalid,
    pub faults: Faults,
    pub forwarder: Option<Arc<Forwarder>>,
}

#[derive(Clone, Copy, Debug)]
pub struct ListenLimits {
    /// Longest body, in bytes. All bodies that are being received or handled use at most four times this size together,
    /// or 256 MiB if that is more.
    pub body: usize,
    /// Time limit for the head of a request, and again for its body.
    pub read_timeout: Duration,
    pub connections: u32,
    /// Maximum number of deliveries in flight.
    pub in_flight: usize,
    /// Number of deliveries after which further requests are refused. Rejected deliveries do not count.
    pub deliveries: Option<u64>,
}

/// The result of a request.
#[derive(Debug)]
pub enum ListenerEvent {
    /// A delivery was answered.
    Delivered {
        delivery: Arc<Delivery>,
        /// Warnings about the store or the targets that this delivery caused.
        warnings: Vec<Warning>,
    },
    /// A request did not become a delivery. This event is lost if the channel is full.
    Refused(RefusedRequest),
    /// A warning that concerns no delivery, or an earlier one.
    Warning(Warning),
}

/// A request that did not become a delivery.
#[derive(Debug)]
pub struct RefusedRequest {
    pub at: Timestamp,
    pub method: Method,
    pub request_target: String,
    pub refusal: Refusal,
}

#[derive(Debug)]
pub(super) struct CompleteRequest {
    pub(super) source: Source,
    pub(super) method: Method,
    pub(super) request_target: String,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// Permits for the memory of the body.
    pub(super) memory: Option<OwnedSemaphorePermit>,
}

/// The response, or `None` to close the connection, and the delivery with its outcome.
pub(super) type Handled = (Option<http::Response<Bytes>>, Arc<Delivery>);

/// Handles deliveries. All connections share one intake.
pub(super) struct Intake {
    pub(super) rules: ListenRules,
    pub(super) limits: ListenLimits,
    pub(super) store: CaptureStore,
    pub(super) events: mpsc::Sender<ListenerEvent>,
    /// Channel that publishes each delivery when it is stored and again when it is answered.
    pub(super) deliveries: broadcast::Sender<Arc<Delivery>>,
    in_flight: Arc<Semaphore>,
    /// Permits of rejected deliveries.
    rejected: Arc<Semaphore>,
    attempts: Mutex<AttemptCounter>,
    /// Number of deliveries that count for [`ListenLimits::deliveries`]. Never exceeds that limit.
    counted: AtomicU64,
    /// Number of deliveries without a submission id, or from an unknown sender. Injected faults treat them as attempts
    /// of one submission.
    uncounted_attempts: AtomicU32,
    storing: WarningLimiter,
    pub(super) connections: Permits,
    pub(super) accepting: WarningLimiter,
    /// Permits for the memory of bodies, in units of [`MEMORY_UNIT`].
    pub(super) memory: Permits,
    /// The tasks of connections and of deliveries in flight.
    pub(super) tasks: TaskTracker,
    /// Stops accepting connections and requests.
    pub(super) stop: CancellationToken,
    /// Ends all tasks.
    pub(super) abort: CancellationToken,
}

/// Permits to handle one delivery and to send its event.
struct Slot {
    event: OwnedPermit<ListenerEvent>,
    in_flight: OwnedSemaphorePermit,
}

struct VerifiedRequest {
    request: CompleteRequest,
    received_at: Timestamp,
    started: Instant,
    verdict: Verdict,
    is_rejected: bool,
}

/// A response, its origin, and the results of forwarding.
struct Decision {
    response: Option<http::Response<Bytes>>,
    answered_by: AnsweredBy,
    forwarded: Forwarded,
}

impl Default for ListenLimits {
    fn default() -> Self {
        Self {
            body: 1 << 20,
            read_timeout: Duration::from_secs(5),
            connections: 512,
            in_flight: 256,
            deliveries: None,
        }
    }
}

impl Intake {
    pub(super) fn new(
        rules: ListenRules,
        limits: ListenLimits,
        store: CaptureStore,
    ) -> (Self, mpsc::Receiver<ListenerEvent>) {
        let (events, receiver) = mpsc::channel(limits.in_flight + WAITING_EVENTS);
        let intake = Self {
            rules,
            limits,
            store,
            events,
            deliveries: broadcast::channel(BROADCAST_LEN).0,
            in_flight: Arc::new(Semaphore::new(limits.in_flight)),
            rejected: Arc::new(Semaphore::new(MAX_REJECTED)),
            attempts: Mutex::default(),
            counted: AtomicU64::new(0),
            uncounted_attempts: AtomicU32::new(0),
            storing: WarningLimiter::default(),
            accepting: WarningLimiter::default(),
            connections: Permits::new(limits.connections as usize),
            memory: Permits::new(limits.body.saturating_mul(4).max(MIN_MEMORY) / MEMORY_UNIT),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            abort: CancellationToken::new(),
        };
        (intake, receiver)
    }

    /// Handles a delivery on its own task, so that it completes even if the connection is closed.
    pub(super) async fn accept(
        self: &Arc<Self>,
        request: CompleteRequest,
    ) -> Result<Handled, Refusal> {
        let request = self.verify(request);
        let slot = self.slot(request.is_rejected).await?;
        let intake = Arc::clone(self);
        let handling = async move { intake.handle(request, slot).await };
        let handling = self.abort.clone().run_until_cancelled_owned(handling);
        match self.tasks.spawn(handling).await {
            Ok(Some(handled)) => handled,
            Ok(None) => Err(Refusal::Stopping),
            Err(_) => Err(Refusal::Internal),
        }
    }

    /// Acquires permits for the memory of a body.
    pub(super) async fn body_memory(&self, bytes: usize) -> OwnedSemaphorePermit {
        let units = u32::try_from(bytes.div_ceil(MEMORY_UNIT)).unwrap_or(u32::MAX);
        self.memory.acquire(units).await
    }

    /// Sends the event of a refused request if the channel has room.
    pub(super) fn report_refusal(&self, method: Method, request_target: String, refusal: Refusal) {
        let refused = RefusedRequest { at: Timestamp::now(), method, request_target, refusal };
        if self.has_room_for_untrusted() {
            let _ = self.events.try_send(ListenerEvent::Refused(refused));
        }
    }

    /// Returns false if an event of an untrusted request would use room that is reserved for deliveries in flight.
    fn has_room_for_untrusted(&self) -> bool {
        self.events.capacity() > self.limits.in_flight
    }

    fn verify(&self, request: CompleteRequest) -> VerifiedRequest {
        let (started, received_at) = (Instant::now(), Timestamp::now());
        let CompleteRequest { headers, body, .. } = &request;
        let verdict = verify(self.rules.verifier.as_ref(), headers, body, received_at);
        let is_rejected = verdict.code.is_refusal() && self.rules.on_invalid == OnInvalid::Reject;
        VerifiedRequest { request, received_at, started, verdict, is_rejected }
    }

    async fn slot(&self, is_rejected: bool) -> Result<Slot, Refusal> {
        let (permits, wait, refusal) = if is_rejected {
            (&self.rejected, Duration::ZERO, Refusal::TooManyInvalid)
        } else {
            (&self.in_flight, EVENT_WAIT, Refusal::Busy)
        };
        let in_flight = Arc::clone(permits).try_acquire_owned().map_err(|_| refusal)?;
        if is_rejected && !self.has_room_for_untrusted() {
            return Err(refusal);
        }
        match tokio::time::timeout(wait, self.events.clone().reserve_owned()).await {
            Ok(Ok(event)) if !self.is_limit_reached() => Ok(Slot { event, in_flight }),
            // The limit is reached, or the receiver was dropped.
            Ok(_) => Err(Refusal::Stopping),
            Err(_) => Err(refusal),
        }
    }

    async fn handle(&self, mut request: VerifiedRequest, slot: Slot) -> Result<Handled, Refusal> {
        let _memory = request.request.memory.take();
        let started = request.started;
        let mut delivery = Arc::new(self.delivery(request)?);
        let mut warnings = Vec::new();
        let stored = self.store.insert(Arc::clone(&delivery)).await;
        // The sender must repeat a delivery that neither the store nor a target has.
        let accepted = if stored.is_ok() { response::accepted } else { response::not_stored };
        match stored {
            Ok(number) => {
                self.storing.record_success();
                Arc::make_mut(&mut delivery).summary.number = Some(number);
            }
            Err(error) => warnings.extend(self.store_warning(&error)),
        }
        self.publish(&delivery);
        // After a panic, the delivery is still answered and its event is sent.
        let decision = AssertUnwindSafe(self.decide(&delivery, accepted)).catch_unwind().await;
        let Decision { response, answered_by, forwarded } = decision
            .unwrap_or_else(|_| Decision::new(AnsweredBy::Listener, Refusal::Internal.response()));
        warnings.extend(forwarded.warnings);
        let status = response.as_ref().map(|response| response.status().as_u16());
        let answered = Arc::make_mut(&mut delivery);
        answered.summary.response = Some(Response { status, answered_by, took: started.elapsed() });
        (answered.forwards, answered.relayed_forward) = (forwarded.forwards, forwarded.relayed);
        self.count_acceptance(&delivery, started);
        if let Some(number) = delivery.summary.number {
            // An error means that the store was closed.
            let _ = self.store.set_outcome(number, Arc::clone(&delivery)).await;
        }
        self.publish(&delivery);
        if !self.store.is_on_disk() {
            // The number is useless to other commands, which cannot read a store in memory.
            Arc::make_mut(&mut delivery).summary.number = None;
        }
        let event = ListenerEvent::Delivered { delivery: Arc::clone(&delivery), warnings };
        slot.event.send(event);
        drop(slot.in_flight);
        Ok((response, delivery))
    }

    /// Counts a request and returns its delivery.
    fn delivery(&self, request: VerifiedRequest) -> Result<Delivery, Refusal> {
        let VerifiedRequest { request, received_at, started, verdict, is_rejected } = request;
        let CompleteRequest { source, method, request_target, headers, body, .. } = request;
        // A rejected delivery does not count, because anyone can send an unsigned request.
        if !is_rejected && !self.count() {
            return Err(Refusal::Stopping);
        }
        let names = EventNames::of_body(&body);
        let attempt = match &names.submission_id {
            // A forged delivery must not count as an attempt for a genuine submission.
            Some(id) if verdict.code.is_trusted() => self.attempts().arrived(id, started),
            _ => Attempt::FIRST,
        };
        let summary = DeliverySummary {
            number: None,
            received_at,
            source,
            method,
            request_target,
            body_size: body.len() as u64,
            verdict,
            names,
            attempt,
            response: None,
        };
        Ok(Delivery { summary, headers, body, forwards: Vec::new(), relayed_forward: None })
    }

    fn is_limit_reached(&self) -> bool {
        let limit = self.limits.deliveries;
        limit.is_some_and(|limit| self.counted.load(Ordering::Relaxed) >= limit)
    }

    /// Counts a delivery. If the limit is already reached, counts nothing and returns false.
    fn count(&self) -> bool {
        let limit = self.limits.deliveries.unwrap_or(u64::MAX);
        let next = |counted| (counted < limit).then_some(counted + 1);
        self.counted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Decides on the response: rejects the delivery, injects a fault, forwards the delivery or answers with
    /// `accepted`.
    async fn decide(
        &self,
        delivery: &Delivery,
        accepted: fn() -> http::Response<Bytes>,
    ) -> Decision {
        let (summary, faults) = (&delivery.summary, &self.rules.faults);
        let (verdict, by_listener) = (summary.verdict.code, AnsweredBy::Listener);
        match self.rules.on_invalid {
            OnInvalid::Reject if verdict.is_refusal() => {
                return Decision::new(by_listener, response::rejected(verdict));
            }
            OnInvalid::Accept if verdict.is_refusal() => {
                return Decision::new(by_listener, accepted());
            }
            _ => {}
        }
        let attempt = match summary.names.submission_id {
            Some(_) if verdict.is_trusted() => summary.attempt.number,
            _ => self.uncounted_attempts.fetch_add(1, Ordering::Relaxed).saturating_add(1),
        };
        let decision = match (faults.of_attempt(attempt), &self.rules.forwarder) {
            (Fault::Drop, _) => Decision {
                response: None,
                answered_by: AnsweredBy::Fault,
                forwarded: Forwarded::default(),
            },
            (Fault::Respond(status), _) => {
                Decision::new(AnsweredBy::Fault, response::injected(status))
            }
            (Fault::None, Some(forwarder)) => {
                Decision::by_target(forwarder.forward(delivery).await, accepted)
            }
            (Fault::None, None) => Decision::new(by_listener, accepted()),
        };
        if let Some(delay) = faults.delay {
            tokio::time::sleep(delay).await;
        }
        decision
    }

    fn count_acceptance(&self, delivery: &Delivery, started: Instant) {
        let summary = &delivery.summary;
        let is_accepted = summary.response.is_some_and(|response| response.is_success());
        if let Some(id) = &summary.names.submission_id
            && summary.verdict.code.is_trusted()
            && is_accepted
        {
            self.attempts().accepted(id, started, Instant::now());
        }
    }

    /// Returns a warning if this error is the first error of an outage of the store.
    fn store_warning(&self, error: &StoreError) -> Option<Warning> {
        let message = format!("deliveries are not stored: {}", with_causes(error));
        let warning = Warning { code: WarningCode::NotStored, message };
        self.storing.record_failure().then_some(warning)
    }

    /// Sends the event of a warning. Waits while the channel is full.
    pub(super) async fn warn(&self, warning: Warning) {
        // An error means that the receiver was dropped.
        let _ = self.events.send(ListenerEvent::Warning(warning)).await;
    }

    fn publish(&self, delivery: &Arc<Delivery>) {
        // An error means that there are no subscribers.
        let _ = self.deliveries.send(Arc::clone(delivery));
    }

    fn attempts(&self) -> MutexGuard<'_, AttemptCounter> {
        self.attempts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Decision {
    fn new(answered_by: AnsweredBy, response: http::Response<Bytes>) -> Self {
        Self { response: Some(response), answered_by, forwarded: Forwarded::default() }
    }

    fn by_target(forwarded: Forwarded, accepted: fn() -> http::Response<Bytes>) -> Self {
        let decision = match forwarded.relayed.and_then(|index| forwarded.forwards.get(index)) {
            Some(forward) => Self::new(AnsweredBy::Target, relay(forward)),
            None => Self::new(AnsweredBy::NoRoute, accepted()),
        };
        Self { forwarded, ..decision }
    }
}

#[cfg(test)]
mod tests;
