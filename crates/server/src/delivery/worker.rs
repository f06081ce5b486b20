//! The worker: claims what is due, has it attempted, and hands the outcomes on to be recorded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Mutex, OwnedMutexGuard, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::attempt::{Carrier, Times, not_made};
use super::code::AttemptCode;
use super::errand::{Errand, Over, Slot};
use super::event_body::event_body;
use super::guard::{Guard, Obstacle};
use super::observer::AttemptObserver;
use super::options::DeliveryOptions;
use super::outcome::{Hindrance, Standing, hindered};
use super::random::Random;
use super::select::Board;
use super::settle::{self, Unrecorded};
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::metrics::Metrics;
use crate::secrets::Vault;
use crate::store::{
    Attempt, ClaimRequest, Claimed, Clock, Lane, Settlement, Store, Verdict, WorkSignal,
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
/// How long an endpoint is left alone that cannot be read, or whose secret cannot.
const UNREADABLE_WAIT: Duration = Duration::from_secs(60);
/// How long a delivery rests whose attempts ended with the process, time and again. Most likely it only
/// stood near what ended it: so it is not given up, and cannot make the process end all the time.
const UNFINISHED_WAIT: Duration = Duration::from_secs(3_600);

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
    /// What spreads retries.
    pub random: Random,
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
        Self::start_observed(equipment, None)
    }

    /// Begins to deliver, and tells an observer of every attempt. Must be called within a tokio
    /// runtime.
    pub fn start_observed(
        equipment: Equipment,
        observer: Option<Arc<dyn AttemptObserver>>,
    ) -> Self {
        let (stopping, stop) = watch::channel(false);
        let (outcomes, waiting) = mpsc::channel(settle::WAITING_MAX);
        let store = Arc::clone(&equipment.store);
        let (linger, metrics) = (equipment.options.linger, Arc::clone(&equipment.metrics));
        let waiting = Arc::new(Mutex::new(waiting));
        let recording = tokio::spawn(supervise("outcomes", move || {
            let (store, metrics) = (Arc::clone(&store), Arc::clone(&metrics));
            settle::record(store, metrics, linger, Arc::clone(&waiting))
        }));
        let working = tokio::spawn(work(equipment, observer, outcomes, stop));
        Self { stopping, working, recording }
    }

    /// Claims nothing more, lets attempts under way finish and records their outcomes. What is not
    /// finished after `grace` is attempted again after the next start.
    pub async fn stop(mut self, grace: Duration) {
        self.stopping.send_replace(true);
        let (working, recording) = (&mut self.working, &mut self.recording);
        let ended = tokio::time::timeout(grace, async {
            let _ = working.await;
            let _ = recording.await;
        });
        if ended.await.is_err() {
            tracing::warn!("attempts that took too long are left for the next start");
        }
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        self.stopping.send_replace(true);
    }
}

/// Works until told to stop, and until the attempts under way have handed on their outcomes.
async fn work(
    equipment: Equipment,
    observer: Option<Arc<dyn AttemptObserver>>,
    outcomes: mpsc::Sender<Unrecorded>,
    mut stop: watch::Receiver<bool>,
) {
    tokio::select! {
        () = recover(&*equipment.store) => {}
        _ = stop.wait_for(|stop| *stop) => return,
    }
    let (alive, mut all_over) = mpsc::channel::<()>(1);
    let desk = Arc::new(Mutex::new(Desk::new(&equipment)));
    supervise("deliveries", || {
        let (equipment, outcomes, alive) = (equipment.clone(), outcomes.clone(), alive.clone());
        let (desk, observer, stop) = (Arc::clone(&desk), observer.clone(), stop.clone());
        async move {
            let desk = desk.lock_owned().await;
            Worker { equipment, observer, desk, outcomes, alive }.run(stop).await;
        }
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

/// What a worker knows. It outlasts a worker that panics, so that the attempts it began keep their
/// slots.
struct Desk {
    work: Arc<WorkSignal>,
    board: Board,
    /// Bytes of answers on their way.
    bytes: usize,
    guard: Guard,
    over: mpsc::UnboundedReceiver<Over>,
    tell_over: mpsc::UnboundedSender<Over>,
    look_again: Instant,
    count_again: Instant,
    backoff: Backoff,
}

impl Desk {
    fn new(equipment: &Equipment) -> Self {
        let (tell_over, over) = mpsc::unbounded_channel();
        Self {
            work: equipment.store.work(),
            board: Board::new(equipment.options.slots),
            bytes: 0,
            guard: Guard::new(equipment.vault.clone()),
            over,
            tell_over,
            look_again: Instant::now(),
            count_again: Instant::now(),
            backoff: Backoff::default(),
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
        if let Some(again) = over.again {
            self.board.put_off(over.endpoint, Instant::now() + again);
        }
    }
}

struct Worker {
    equipment: Equipment,
    observer: Option<Arc<dyn AttemptObserver>>,
    desk: OwnedMutexGuard<Desk>,
    outcomes: mpsc::Sender<Unrecorded>,
    /// Held by every attempt under way.
    alive: mpsc::Sender<()>,
}

impl Worker {
    async fn run(mut self, mut stop: watch::Receiver<bool>) {
        while !*stop.borrow() {
            self.desk.hear();
            self.equipment.metrics.set_in_flight(self.desk.board.under_way());
            if Instant::now() >= self.desk.look_again {
                self.look().await;
            }
            if self.take(&stop).await {
                continue;
            }
            let desk = &mut *self.desk;
            let until = desk.board.next_due(Instant::now()).unwrap_or(desk.look_again);
            let (work, over) = (Arc::clone(&desk.work), &mut desk.over);
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                () = work.announced() => {}
                Some(ended) = over.recv() => desk.note(&ended),
                () = tokio::time::sleep_until(until.min(desk.look_again)) => {}
            }
        }
    }

    /// Looks at the front of every lane.
    async fn look(&mut self) {
        let Equipment { store, metrics, .. } = &self.equipment;
        match store.due().await {
            Ok(due) => {
                let overdue = due.iter().filter(|due| due.after.is_zero()).map(|due| due.overdue);
                metrics.set_oldest_due(overdue.max().unwrap_or_default());
                self.desk.board.refresh(&due, Instant::now());
            }
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "the queue could not be looked at");
            }
        }
        let now = Instant::now();
        self.desk.look_again = now + LOOK_EVERY;
        if now >= self.desk.count_again {
            self.desk.count_again = now + COUNT_EVERY;
            // A gauge that is late is no reason to hold up deliveries.
            let (store, metrics) = (Arc::clone(store), Arc::clone(metrics));
            tokio::spawn(async move {
                if let Ok(backlog) = store.backlog().await {
                    metrics.set_unfinished(backlog.unfinished);
                }
            });
        }
    }

    /// Claims what is due and begins to attempt it; `false` when there was nothing.
    async fn take(&mut self, stop: &watch::Receiver<bool>) -> bool {
        let bytes_max = BYTES_MAX.saturating_sub(self.desk.bytes);
        if bytes_max == 0 {
            return false;
        }
        let wants = self.desk.board.choose(Instant::now());
        // A store that cannot take outcomes would have every delivery made again.
        if wants.is_empty() || self.equipment.store.can_accept().is_err() {
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
                self.desk.backoff.pause().await;
                return false;
            }
        };
        self.desk.backoff.reset();
        self.desk.board.update(&wants, &claims.due, Instant::now());
        for endpoint in &claims.unreadable {
            self.desk.board.block(*endpoint, Instant::now() + UNREADABLE_WAIT);
        }
        let found = !claims.deliveries.is_empty();
        if let Some(last) = claims.deliveries.last() {
            self.desk.board.served(last.key.endpoint);
        }
        let ran_out = claims.deliveries.iter().filter(|claimed| claimed.lane == Lane::Leased);
        self.equipment.metrics.leases_expired(ran_out.count() as u64);
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
        let _ = self.outcomes.send(Unrecorded::of(claimed, settlement, lease_end)).await;
    }

    /// Begins an attempt, or settles a delivery that cannot be attempted.
    async fn begin(&mut self, claimed: Claimed, lease_end: Instant) {
        let desk = &mut *self.desk;
        let target = match desk.guard.admit(&claimed) {
            Ok(target) => target,
            Err(obstacle) => return self.stumble(&claimed, &obstacle, lease_end).await,
        };
        let slot = Slot::take(&mut desk.board, &claimed, desk.tell_over.clone());
        desk.bytes += claimed.data.len();
        let body = event_body(&claimed);
        let Equipment { carrier, clock, random, options, metrics, .. } = &self.equipment;
        let errand = Errand {
            // The body has the answers; they are not held twice.
            claimed: Claimed { data: Bytes::new(), ..claimed },
            body,
            target,
            times: Times::beginning(clock(), options.timeout),
            lease_end,
            carrier: Arc::clone(carrier),
            schedule: options.schedule,
            random: Arc::clone(random),
            metrics: Arc::clone(metrics),
            observer: self.observer.clone(),
            outcomes: self.outcomes.clone(),
            slot,
            _alive: self.alive.clone(),
        };
        tokio::spawn(errand.run());
    }

    /// Settles a delivery that cannot be attempted.
    async fn stumble(&mut self, claimed: &Claimed, obstacle: &Obstacle, lease_end: Instant) {
        let cause = on_one_line(obstacle);
        let Claimed { state, retries, resend, .. } = *claimed;
        let standing = Standing { state, retries, resend };
        let delivery = claimed.key.id();
        let (hindrance, record) = match obstacle {
            Obstacle::Url(_) => {
                let code = AttemptCode::UrlRefused;
                self.equipment.metrics.attempt_not_made(code);
                let record = not_made(claimed, (self.equipment.clock)(), code, cause.clone());
                (Hindrance::Final, Some(record))
            }
            Obstacle::Unfinished(_) => (Hindrance::Ours { wait: UNFINISHED_WAIT }, None),
            Obstacle::Secret { .. } | Obstacle::EmptySecret(_) => {
                let until = Instant::now() + UNREADABLE_WAIT;
                // The others of the endpoint stay where they are, and are not told one by one.
                if !self.desk.board.block(claimed.key.endpoint, until) {
                    return self.put_off(claimed, standing, lease_end).await;
                }
                (Hindrance::Ours { wait: UNREADABLE_WAIT }, None)
            }
        };
        tracing::error!(%delivery, cause, "a delivery cannot be attempted");
        self.settle(claimed, hindered(standing, hindrance), record, lease_end).await;
    }

    async fn put_off(&self, claimed: &Claimed, standing: Standing, lease_end: Instant) {
        let verdict = hindered(standing, Hindrance::Ours { wait: UNREADABLE_WAIT });
        self.settle(claimed, verdict, None, lease_end).await;
    }
}
