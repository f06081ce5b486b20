//! The worker: claims what is due, has it attempted, and hands the outcomes on to be recorded.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::attempt::{self, Attempted, Carrier, Times};
use super::code::AttemptCode;
use super::event_body::event_body;
use super::guard::{Guard, Obstacle, Target};
use super::options::DeliveryOptions;
use super::outcome::{Standing, verdict};
use super::select::{Board, Reached};
use super::settle::{self, Outcome};
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::metrics::Metrics;
use crate::secrets::Vault;
use crate::store::{
    Attempt, ClaimRequest, Claimed, Clock, EndpointNo, Settlement, Store, Verdict, WorkSignal,
};
use crate::supervise::{Backoff, supervise};

/// How often the whole queue is looked at, for what nobody announced: another process's work, or
/// claims that ran out.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the length of the queue is counted, which takes longer the longer it is.
const COUNT_EVERY: Duration = Duration::from_secs(15);
/// Bytes of answers on their way at a time, so that a hundred large ones to endpoints that hang do not
/// fill the memory.
const BYTES_MAX: usize = 32 << 20;
/// How long a delivery waits whose endpoint's secret cannot be read.
const UNREADABLE_WAIT: Duration = Duration::from_secs(60);

/// What deliveries are made with.
#[derive(Clone)]
pub struct Equipment {
    /// Where the queue is.
    pub store: Arc<dyn Store>,
    /// What carries a delivery to its endpoint.
    pub carrier: Arc<dyn Carrier>,
    /// What opens signing secrets.
    pub vault: Vault,
    /// The wall's clock, which signatures carry.
    pub clock: Clock,
    /// How deliveries are made.
    pub options: DeliveryOptions,
    /// Where they are counted.
    pub metrics: Arc<Metrics>,
}

/// Deliveries under way. When it is dropped nothing more is claimed; [`stop`](Self::stop) waits until
/// attempts under way have finished.
pub struct Deliveries {
    stopping: watch::Sender<bool>,
    working: JoinHandle<()>,
    recording: JoinHandle<()>,
}

impl Deliveries {
    /// Begins to deliver. Must be called within a tokio runtime.
    pub fn start(equipment: Equipment) -> Self {
        let (stopping, stop) = watch::channel(false);
        let (outcomes, waiting) = mpsc::channel(settle::WAITING_MAX);
        let store = Arc::clone(&equipment.store);
        let (linger, metrics) = (equipment.options.linger, Arc::clone(&equipment.metrics));
        let waiting = Arc::new(Mutex::new(waiting));
        let recording = tokio::spawn(supervise("outcomes", move || {
            let (store, metrics) = (Arc::clone(&store), Arc::clone(&metrics));
            settle::record(store, metrics, linger, Arc::clone(&waiting))
        }));
        let working = tokio::spawn(work(equipment, outcomes, stop));
        Self { stopping, working, recording }
    }

    /// Claims nothing more, lets attempts under way finish and records their outcomes. What is not
    /// finished after `grace` is attempted again after the next start.
    pub async fn stop(self, grace: Duration) {
        // Fails when the worker has ended, which is what is wanted.
        let _ = self.stopping.send(true);
        let Self { working, recording, .. } = self;
        let ended = tokio::time::timeout(grace, async {
            let _ = working.await;
            let _ = recording.await;
        });
        if ended.await.is_err() {
            tracing::warn!("attempts that took too long are left for the next start");
        }
    }
}

/// Works until told to stop, and until the attempts under way have handed on their outcomes.
async fn work(
    equipment: Equipment,
    outcomes: mpsc::Sender<Outcome>,
    mut stop: watch::Receiver<bool>,
) {
    tokio::select! {
        () = recover(&*equipment.store) => {}
        _ = stop.wait_for(|stop| *stop) => return,
    }
    let (alive, mut all_over) = mpsc::channel::<()>(1);
    supervise("deliveries", || {
        let worker = Worker::new(equipment.clone(), outcomes.clone(), alive.clone());
        worker.run(stop.clone())
    })
    .await;
    drop((outcomes, alive));
    // Nobody sends anything: this ends when the last attempt has let go of its end.
    let _ = all_over.recv().await;
}

/// Makes the claims of earlier runs available.
async fn recover(store: &dyn Store) {
    let mut backoff = Backoff::default();
    loop {
        match store.recover_claims().await {
            Ok(0) => return,
            Ok(given_back) => {
                tracing::info!(given_back, "deliveries that an earlier run left are made again");
                return;
            }
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::error!(cause, "claims of an earlier run could not be given back");
                backoff.pause().await;
            }
        }
    }
}

/// An attempt that is over, as the board hears of it.
struct Over {
    endpoint: EndpointNo,
    is_late: bool,
    bytes: usize,
    reached: Reached,
    /// How long until the delivery is due again, if it will be.
    again: Option<Duration>,
}

struct Worker {
    equipment: Equipment,
    work: Arc<WorkSignal>,
    board: Board,
    /// Bytes of answers on their way.
    bytes: usize,
    guard: Guard,
    outcomes: mpsc::Sender<Outcome>,
    over: mpsc::UnboundedReceiver<Over>,
    tell_over: mpsc::UnboundedSender<Over>,
    /// Held by every attempt under way.
    alive: mpsc::Sender<()>,
    look_again: Instant,
    count_again: Instant,
    backoff: Backoff,
}

impl Worker {
    fn new(equipment: Equipment, outcomes: mpsc::Sender<Outcome>, alive: mpsc::Sender<()>) -> Self {
        let (tell_over, over) = mpsc::unbounded_channel();
        Self {
            work: equipment.store.work(),
            board: Board::new(equipment.options.slots),
            bytes: 0,
            guard: Guard::new(equipment.vault.clone()),
            outcomes,
            over,
            tell_over,
            alive,
            look_again: Instant::now(),
            count_again: Instant::now(),
            backoff: Backoff::default(),
            equipment,
        }
    }

    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            self.hear();
            if Instant::now() >= self.look_again {
                self.look().await;
            }
            if self.take(&stop).await {
                continue;
            }
            let until = self.board.next_due(Instant::now()).unwrap_or(self.look_again);
            let (work, over) = (Arc::clone(&self.work), &mut self.over);
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                () = work.announced() => {}
                Some(ended) = over.recv() => self.note(&ended),
                () = tokio::time::sleep_until(until.min(self.look_again)) => {}
            }
        }
    }

    /// Takes in what happened meanwhile.
    fn hear(&mut self) {
        while let Ok(over) = self.over.try_recv() {
            self.note(&over);
        }
        self.board.announce(&self.work.take(), Instant::now());
    }

    fn note(&mut self, over: &Over) {
        self.board.end(over.endpoint, over.is_late, over.reached);
        self.bytes = self.bytes.saturating_sub(over.bytes);
        self.equipment.metrics.set_in_flight(self.board.under_way());
        if let Some(again) = over.again {
            self.board.put_off(over.endpoint, Instant::now() + again);
        }
    }

    /// Looks at the front of every lane.
    async fn look(&mut self) {
        match self.equipment.store.due().await {
            Ok(due) => {
                let overdue = due.iter().filter(|due| due.after.is_zero()).map(|due| due.overdue);
                self.equipment.metrics.set_oldest_due(overdue.max().unwrap_or_default());
                self.board.refresh(&due, Instant::now());
            }
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "the queue could not be looked at");
            }
        }
        self.look_again = Instant::now() + LOOK_EVERY;
        if Instant::now() >= self.count_again {
            self.count_again = Instant::now() + COUNT_EVERY;
            // A gauge that is late is no reason to hold up deliveries.
            let (store, metrics) =
                (Arc::clone(&self.equipment.store), Arc::clone(&self.equipment.metrics));
            tokio::spawn(async move {
                if let Ok(backlog) = store.backlog().await {
                    metrics.set_unfinished(backlog.unfinished);
                }
            });
        }
    }

    /// Claims what is due and begins to attempt it; `false` when there was nothing.
    async fn take(&mut self, stop: &watch::Receiver<bool>) -> bool {
        let bytes_max = BYTES_MAX.saturating_sub(self.bytes);
        if bytes_max == 0 {
            return false;
        }
        let wants = self.board.choose(Instant::now());
        if wants.is_empty() {
            return false;
        }
        let lease = self.equipment.options.lease();
        let request = ClaimRequest { wants: wants.clone(), lease, bytes_max };
        // By the worker's own clock a lease ends before it does by the store's.
        let lease_end = Instant::now() + lease;
        let claims = match self.equipment.store.claim(request).await {
            Ok(claims) => claims,
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "deliveries could not be claimed; they wait");
                self.backoff.pause().await;
                return false;
            }
        };
        self.backoff.reset();
        self.board.update(&wants, &claims.due, Instant::now());
        let found = !claims.deliveries.is_empty();
        let ran_out = claims.deliveries.iter().filter(|claimed| claimed.claims > 1).count();
        self.equipment.metrics.leases_expired(ran_out as u64);
        if found {
            fault_point!(AfterClaim);
        }
        for claimed in claims.deliveries {
            if *stop.borrow() {
                self.settle(&claimed, Verdict::Release, None, lease_end).await;
            } else {
                self.begin(claimed, lease_end).await;
            }
        }
        found
    }

    async fn settle(
        &self,
        claimed: &Claimed,
        verdict: Verdict,
        attempt: Option<Attempt>,
        lease_end: Instant,
    ) {
        let (key, lease) = (claimed.key, claimed.lease);
        let settlement = Settlement { key, lease, verdict, attempt };
        // The recording task ends only after this worker; without it the lease runs out.
        let _ = self.outcomes.send(Outcome { settlement, lease_end }).await;
    }

    /// Begins an attempt, or settles a delivery that cannot be attempted.
    async fn begin(&mut self, claimed: Claimed, lease_end: Instant) {
        let target = match self.guard.admit(&claimed) {
            Ok(target) => target,
            Err(obstacle) => return self.stumble(&claimed, &obstacle, lease_end).await,
        };
        let is_late = claimed.attempts > 0 || claimed.resend;
        self.board.begin(claimed.key.endpoint, is_late);
        let bytes = claimed.data.len();
        self.bytes += bytes;
        let body = event_body(&claimed);
        self.equipment.metrics.set_in_flight(self.board.under_way());
        let errand = Errand {
            // The body has the answers; they are not held twice.
            claimed: Claimed { data: Bytes::new(), ..claimed },
            body,
            bytes,
            target,
            is_late,
            lease_end,
            carrier: Arc::clone(&self.equipment.carrier),
            times: Times::beginning((self.equipment.clock)(), self.equipment.options.timeout),
            options: self.equipment.options,
            metrics: Arc::clone(&self.equipment.metrics),
            outcomes: self.outcomes.clone(),
            over: self.tell_over.clone(),
            _alive: self.alive.clone(),
        };
        tokio::spawn(errand.run());
    }

    /// Settles a delivery that cannot be attempted.
    async fn stumble(&mut self, claimed: &Claimed, obstacle: &Obstacle, lease_end: Instant) {
        let delivery = claimed.key.id();
        let cause = on_one_line(obstacle);
        tracing::error!(%delivery, cause = &*cause, "a delivery cannot be attempted");
        let now = (self.equipment.clock)();
        let made = |code| {
            self.equipment.metrics.attempt_not_made(code);
            Some(attempt::not_made(claimed, now, code, cause.clone()))
        };
        let (verdict, attempt) = match obstacle {
            Obstacle::Abandoned(_) => (Verdict::Failed, made(AttemptCode::Abandoned)),
            Obstacle::Url(_) => (Verdict::Failed, made(AttemptCode::UrlRefused)),
            // Nothing is wrong with the endpoint: no retry of its is spent.
            Obstacle::Secret { .. } | Obstacle::EmptySecret(_) => {
                let (after, retries) = (UNREADABLE_WAIT, claimed.retries);
                (Verdict::Retry { after, retries }, None)
            }
        };
        self.settle(claimed, verdict, attempt, lease_end).await;
    }
}

/// One attempt on its way, as a task of its own.
struct Errand {
    claimed: Claimed,
    body: Bytes,
    bytes: usize,
    target: Arc<Target>,
    is_late: bool,
    lease_end: Instant,
    carrier: Arc<dyn Carrier>,
    times: Times,
    options: DeliveryOptions,
    metrics: Arc<Metrics>,
    outcomes: mpsc::Sender<Outcome>,
    over: mpsc::UnboundedSender<Over>,
    _alive: mpsc::Sender<()>,
}

impl Errand {
    async fn run(self) {
        let (body, resend) = (self.body.clone(), self.claimed.resend);
        let attempt = attempt::attempt(&*self.carrier, &self.target, body, resend, self.times);
        let attempted = AssertUnwindSafe(attempt).catch_unwind().await;
        let (reached, again) = if let Ok(attempted) = attempted {
            self.finish(attempted).await
        } else {
            // Its claim runs out; after a few such claims it is given up.
            let delivery = self.claimed.key.id();
            tracing::error!(%delivery, "an attempt panicked");
            (Reached::Unknown, None)
        };
        let (endpoint, is_late, bytes) = (self.claimed.key.endpoint, self.is_late, self.bytes);
        // Fails when the worker was begun anew, and knows nothing of this attempt.
        let _ = self.over.send(Over { endpoint, is_late, bytes, reached, again });
    }

    async fn finish(&self, attempted: Attempted) -> (Reached, Option<Duration>) {
        let Claimed { key, lease, state, retries, resend, .. } = self.claimed;
        let standing = Standing { state, retries, resend };
        let random = fastrand::f64();
        let verdict = verdict(standing, attempted.ending, &self.options.schedule, random);
        let again = match verdict {
            Verdict::Retry { after, .. } => Some(after),
            _ => None,
        };
        self.metrics.attempt(attempted.code, attempted.record.duration);
        if let Some(denied) = attempted.denied {
            self.metrics.egress_denied(denied.class());
        }
        if let Some(code) = attempted.code {
            let (delivery, status) = (key.id(), attempted.record.status);
            let (code, micros) = (code.as_str(), attempted.record.duration.as_micros());
            tracing::info!(%delivery, status, code, micros, "an attempt failed");
        }
        fault_point!(AfterAnswer);
        let attempt = Some(attempted.record);
        let settlement = Settlement { key, lease, verdict, attempt };
        let _ = self.outcomes.send(Outcome { settlement, lease_end: self.lease_end }).await;
        (attempted.reached, again)
    }
}
