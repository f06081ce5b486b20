//! One delivery, from a whole request to its answer.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use formsvc_receiver::Verifier;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use tokio::sync::mpsc::{self, OwnedPermit};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit, broadcast};

use super::answers::{self, Answer, Refusal};
use super::faults::{Fault, Faults};
use super::forward::{Forwarder, PassedOn};
use super::happened::{Delivered, Happened, Refused, Warning, WarningCode};
use super::names::Names;
use super::policy::{OnInvalid, Treatment, treatment};
use super::relay;
use super::waiting::{Wait, Waiting};
use crate::webhook::capture::{
    AnsweredBy, Capture, CaptureNumber, Forward, Outcome, Received, Source,
};
use crate::webhook::history::{Came, History};
use crate::webhook::store::Store;
use crate::webhook::verdict::judge;

/// How long a delivery waits for whoever reads what is told, before its sender is told to come again.
const PATIENCE: Duration = Duration::from_secs(1);
/// Deliveries that are answered and wait to be told, beside those under way.
const UNTOLD: usize = 64;
/// How long a body is read for before it gives way to others, where there is no room for them.
const SLOW_BODY: Duration = Duration::from_secs(1);
/// Deliveries that are kept in a row before it is told again that one is not: on a disk that is all but full
/// a small one still finds room.
const KEPT_AGAIN: u64 = 16;
/// Captures that a page may be behind.
const BUS: usize = 256;

/// What a listener does with what comes.
pub(crate) struct Rules {
    pub(crate) limits: Limits,
    /// The path deliveries are taken at; any if none.
    pub(crate) path: Option<String>,
    pub(crate) verifier: Option<Verifier>,
    pub(crate) on_invalid: OnInvalid,
    pub(crate) faults: Faults,
    /// Where deliveries go from here.
    pub(crate) forwarder: Option<Forwarder>,
}

/// What a listener takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Longest body, in bytes.
    pub(crate) body: usize,
    /// Time for the head of a request, and for its body.
    pub(crate) read: Duration,
    /// Connections that may be open at once.
    pub(crate) connections: u32,
    /// Deliveries handled at once.
    pub(crate) in_flight: usize,
    /// Deliveries in all; without a bound if none.
    pub(crate) deliveries: Option<u64>,
}

/// Takes deliveries. Cheap to clone; clones share everything.
#[derive(Clone)]
pub(crate) struct Intake(Arc<Inner>);

struct Inner {
    rules: Rules,
    history: Mutex<History>,
    store: Store,
    bus: broadcast::Sender<Arc<Capture>>,
    told: mpsc::Sender<Happened>,
    in_flight: Arc<Semaphore>,
    /// Bodies that may be read at once: what is held of them is bounded, however many connect.
    reading: Semaphore,
    /// Whose bodies these are.
    bodies: Arc<Waiting>,
    /// Deliveries that count for [`Limits::deliveries`]. Never more than that limit.
    taken: AtomicU64,
    /// Attempts of what has no id.
    nameless: AtomicU32,
    /// How many were kept since one was not.
    kept_in_a_row: AtomicU64,
}

/// A whole request.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) source: Source,
    pub(crate) method: Method,
    pub(crate) request_target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A place for one delivery: among those under way, and for what will be told of it.
pub(crate) struct Place {
    told: OwnedPermit<Happened>,
    in_flight: OwnedSemaphorePermit,
}

/// Leave to read a body.
pub(super) struct Reading<'a> {
    /// Tells that it is to give way.
    pub(super) gives_way: Arc<Notify>,
    _wait: Wait,
    _place: SemaphorePermit<'a>,
}

/// What goes back to the sender.
#[derive(Debug)]
pub(super) enum Reply {
    Answer(Answer),
    /// The end of the connection.
    Nothing,
}

/// What was made of a delivery, on its way to becoming an outcome.
struct Made {
    reply: Reply,
    by: AnsweredBy,
    forwards: Vec<Forward>,
    decided_by: Option<usize>,
    warnings: Vec<Warning>,
    is_unrouted: bool,
}

impl Made {
    /// What is said without a word of anything it was forwarded to.
    fn here(reply: Reply, by: AnsweredBy) -> Self {
        let (forwards, warnings) = (Vec::new(), Vec::new());
        Self { reply, by, forwards, decided_by: None, warnings, is_unrouted: false }
    }
}

impl Intake {
    /// An intake, and what it will tell.
    pub(crate) fn new(
        rules: Rules,
        history: History,
        store: Store,
    ) -> (Self, mpsc::Receiver<Happened>) {
        let places = rules.limits.in_flight;
        let (told, happened) = mpsc::channel(places + UNTOLD);
        let inner = Inner {
            rules,
            history: Mutex::new(history),
            store,
            bus: broadcast::channel(BUS).0,
            told,
            in_flight: Arc::new(Semaphore::new(places)),
            reading: Semaphore::new(places),
            bodies: Arc::default(),
            taken: AtomicU64::new(0),
            nameless: AtomicU32::new(0),
            kept_in_a_row: AtomicU64::new(KEPT_AGAIN),
        };
        (Self(Arc::new(inner)), happened)
    }

    /// Where every capture is told: once kept, and once more when answered.
    pub(crate) fn bus(&self) -> broadcast::Sender<Arc<Capture>> {
        self.0.bus.clone()
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.0.rules
    }

    /// A place for a delivery; none while there are as many as there may be, or once the limit of
    /// deliveries is reached.
    pub(super) async fn place(&self) -> Result<Place, Refusal> {
        let in_flight = Arc::clone(&self.0.in_flight).try_acquire_owned();
        let in_flight = in_flight.map_err(|_| Refusal::Busy)?;
        match tokio::time::timeout(PATIENCE, self.0.told.clone().reserve_owned()).await {
            Ok(Ok(told)) if !self.is_limit_reached() => Ok(Place { told, in_flight }),
            // Or whoever was told is gone: the command is ending.
            Ok(_) => Err(Refusal::Stopping),
            Err(_) => Err(Refusal::Busy),
        }
    }

    /// Leave to read a body; none while as many are read as there may be, and none of them is slow. The
    /// server's watch has whoever holds it give way in time.
    pub(super) async fn reading(&self) -> Option<Reading<'_>> {
        let Inner { reading, bodies, .. } = &*self.0;
        let place = match reading.try_acquire() {
            Ok(place) => place,
            Err(_) if bodies.make_way(SLOW_BODY) => {
                tokio::time::timeout(PATIENCE, reading.acquire()).await.ok()?.ok()?
            }
            Err(_) => return None,
        };
        let gives_way = Arc::new(Notify::new());
        let wait = bodies.begin(&gives_way);
        Some(Reading { gives_way, _wait: wait, _place: place })
    }

    /// Those whose bodies are read.
    pub(super) fn bodies(&self) -> &Arc<Waiting> {
        &self.0.bodies
    }

    /// Returns true if as many deliveries were taken as the limit allows.
    fn is_limit_reached(&self) -> bool {
        let limit = self.0.rules.limits.deliveries;
        limit.is_some_and(|limit| self.0.taken.load(Ordering::Relaxed) >= limit)
    }

    /// Counts a delivery for the limit. Returns false, and counts nothing, if the limit is reached.
    fn count(&self) -> bool {
        let limit = self.0.rules.limits.deliveries.unwrap_or(u64::MAX);
        let next = |taken| (taken < limit).then_some(taken + 1);
        self.0.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Waits until no delivery is under way; only once none is taken any more.
    pub(super) async fn idle(&self) {
        let all = u32::try_from(self.0.rules.limits.in_flight).unwrap_or(u32::MAX);
        // Fails only for a closed semaphore, and nobody closes it.
        let _ = self.0.in_flight.acquire_many(all).await;
    }

    /// A request went no further. It is told if there is room for it.
    pub(super) fn refused(&self, method: Method, request_target: String, refusal: Refusal) {
        let refused = Refused { at: Timestamp::now(), method, request_target, refusal };
        let _ = self.0.told.try_send(Happened::Refused(refused));
    }

    /// Takes a delivery that was made here, as soon as there is a place for it.
    pub(crate) async fn give(self, incoming: Incoming) -> Result<Arc<Capture>, Refusal> {
        let place = self.place().await?;
        Ok(self.take(incoming, place).await?.1)
    }

    /// Takes a delivery to its end, whether its sender still waits or not. Gives what the sender is told,
    /// and the capture with its outcome. Refuses a delivery that counts for the limit of deliveries if
    /// the limit is reached.
    pub(super) async fn take(
        self,
        incoming: Incoming,
        place: Place,
    ) -> Result<(Reply, Arc<Capture>), Refusal> {
        let began = Instant::now();
        let (received, came) = self.look(incoming, began).ok_or(Refusal::Stopping)?;
        let received = Arc::new(received);
        let (number, mut warnings) = self.keep(&received).await;
        let capture = Capture { number, received: Arc::clone(&received), outcome: None };
        self.show(&capture);
        let made = self.make(&received).await;
        let Made { reply, by, forwards, decided_by, warnings: more, is_unrouted } = made;
        warnings.extend(more);
        let status = match &reply {
            Reply::Answer(answer) => Some(answer.status().as_u16()),
            Reply::Nothing => None,
        };
        let took = began.elapsed();
        let outcome = Arc::new(Outcome { status, by, took, forwards, decided_by });
        if let Some(number) = number {
            self.0.store.settle(number, Arc::clone(&outcome));
        }
        let capture = Capture { outcome: Some(outcome), ..capture };
        self.ended(&capture, began);
        self.show(&capture);
        // No other command finds a number of a store in memory.
        let number = number.filter(|_| self.0.store.is_on_disk());
        let capture = Arc::new(Capture { number, ..capture });
        let pause = came.pause;
        let told = Delivered { capture: Arc::clone(&capture), pause, warnings, is_unrouted };
        place.told.send(Happened::Delivered(told));
        drop(place.in_flight);
        Ok((reply, capture))
    }

    /// Tells whoever looks at captures.
    fn show(&self, capture: &Capture) {
        if self.0.bus.receiver_count() > 0 {
            // Fails only where nobody looks any more.
            let _ = self.0.bus.send(Arc::new(capture.clone()));
        }
    }

    /// Keeps a request, as long as that goes well: a full disk ends no delivery. Warns of the first that
    /// is not kept.
    async fn keep(&self, received: &Arc<Received>) -> (Option<CaptureNumber>, Vec<Warning>) {
        match self.0.store.keep(Arc::clone(received)).await {
            Ok(number) => {
                self.0.kept_in_a_row.fetch_add(1, Ordering::Relaxed);
                (Some(number), Vec::new())
            }
            Err(_) if self.0.kept_in_a_row.swap(0, Ordering::Relaxed) < KEPT_AGAIN => {
                (None, Vec::new())
            }
            Err(why) => {
                let message = format!("deliveries are not kept for now: {}", in_full(&why));
                (None, vec![Warning { code: WarningCode::NotStored, message }])
            }
        }
    }

    /// Judges a request, and counts it. Returns `None` if the limit of deliveries is reached. A delivery
    /// that is rejected does not count for the limit: any sender can cause one.
    fn look(&self, incoming: Incoming, now: Instant) -> Option<(Received, Came)> {
        let Incoming { source, method, request_target, headers, body } = incoming;
        let at = Timestamp::now();
        let rules = &self.0.rules;
        let (verdict, event) = judge(rules.verifier.as_ref(), &headers, &body, at);
        if treatment(verdict.code, rules.on_invalid) != Treatment::Reject && !self.count() {
            return None;
        }
        let Names { event, submission_id, form_id } = Names::of(event.as_ref(), &body);
        let came = match &submission_id {
            // A forged one would use up the attempts of the genuine ones.
            Some(id) if verdict.code.is_proven() => self.history().arrived(id, now),
            _ => Came::ONCE,
        };
        let arrival = came.arrival;
        let received = Received {
            at,
            source,
            method,
            request_target,
            headers,
            body,
            verdict,
            event,
            submission_id,
            form_id,
            arrival,
        };
        Some((received, came))
    }

    /// Decides on the answer, and holds it back where that was asked for.
    async fn make(&self, received: &Received) -> Made {
        let rules = &self.0.rules;
        let listener = |answer| Made::here(Reply::Answer(answer), AnsweredBy::Listener);
        match treatment(received.verdict.code, rules.on_invalid) {
            Treatment::Reject => return listener(answers::rejected(received.verdict.code)),
            Treatment::Accept => return listener(answers::accepted()),
            Treatment::GoOn => {}
        }
        let attempt = match received.submission_id {
            Some(_) => received.arrival.number,
            None => self.0.nameless.fetch_add(1, Ordering::Relaxed).saturating_add(1),
        };
        let made = match rules.faults.of_attempt(attempt) {
            Fault::Drop => Made::here(Reply::Nothing, AnsweredBy::Fault),
            Fault::Answer(status) => {
                Made::here(Reply::Answer(answers::as_told(status)), AnsweredBy::Fault)
            }
            Fault::None => self.pass_on(received).await,
        };
        if let Some(delay) = rules.faults.delay {
            Box::pin(tokio::time::sleep(delay)).await;
        }
        made
    }

    /// Passes it on to whatever is to handle it, whose answer then is the answer.
    async fn pass_on(&self, received: &Received) -> Made {
        let forwarder = &self.0.rules.forwarder;
        let passed_on = match forwarder {
            // Boxed: without it, each delivery that goes nowhere carries the room for this.
            Some(forwarder) => Box::pin(forwarder.forward(received)).await,
            None => PassedOn::default(),
        };
        let PassedOn { forwards, warnings } = passed_on;
        let made = match relay::answer(&forwards) {
            Some((decides, answer)) => {
                let made = Made::here(Reply::Answer(answer), AnsweredBy::Target);
                Made { decided_by: Some(decides), ..made }
            }
            None => Made::here(Reply::Answer(answers::accepted()), AnsweredBy::Listener),
        };
        let is_unrouted = forwarder.is_some() && forwards.is_empty();
        Made { forwards, warnings, is_unrouted, ..made }
    }

    /// Remembers how it ended, for the next attempt.
    fn ended(&self, capture: &Capture, began: Instant) {
        let received = &capture.received;
        let counted = received.verdict.code.is_proven();
        let Some(id) = received.submission_id.as_deref().filter(|_| counted) else { return };
        let accepted = capture.outcome.as_ref().is_some_and(|outcome| outcome.is_accepted());
        self.history().ended(id, (began, Instant::now()), accepted, capture.asked_for());
    }

    fn history(&self) -> std::sync::MutexGuard<'_, History> {
        self.0.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error with what caused it.
fn in_full(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"))
}

#[cfg(test)]
mod tests;
