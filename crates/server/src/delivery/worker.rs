//! The worker: claims what is due, has it attempted, and hands the outcomes on to be recorded.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{OwnedMutexGuard, mpsc, watch};
use tokio::time::Instant;

use super::at_hand::Held;
use super::attempt::{Times, not_made};
use super::code::AttemptCode;
use super::desk::Desk;
use super::errand::{Errand, Slot};
use super::event_body::event_body;
use super::guard::Obstacle;
use super::observer::AttemptObserver;
use super::outcome::{Hindrance, Standing, hindered};
use super::running::Equipment;
use super::settle::Unrecorded;
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::store::{
    Attempt, ClaimRequest, Claimed, Claims, EndpointNo, Lane, Settlement, StoreError, Verdict, Want,
};

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

/// Who does the work.
pub(super) struct Worker {
    pub(super) equipment: Equipment,
    pub(super) observer: Option<Arc<dyn AttemptObserver>>,
    pub(super) desk: OwnedMutexGuard<Desk>,
    pub(super) outcomes: mpsc::Sender<Unrecorded>,
    /// Held by every attempt under way.
    pub(super) alive: mpsc::Sender<()>,
}

/// A claim under way.
struct Claiming {
    wants: Vec<Want>,
    lease_end: Instant,
    claims: BoxFuture<'static, Result<Claims, StoreError>>,
}

impl Worker {
    /// Works until told to stop; then gives back what it had at hand.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        // At most one claim is under way.
        let mut claiming = None;
        while !*stop.borrow() {
            self.desk.hear();
            if Instant::now() >= self.desk.look_again {
                self.look().await;
            }
            self.give_back_overdue().await;
            self.begin_all().await;
            self.equipment.metrics.set_in_flight(self.desk.board.under_way());
            if claiming.is_none() {
                claiming = self.claim();
            }
            let desk = &mut *self.desk;
            let next = if claiming.is_some() { None } else { desk.board.next_due(Instant::now()) };
            let until = next.unwrap_or(desk.look_again).min(desk.look_again);
            let (work, over) = (Arc::clone(&desk.work), &mut desk.over);
            let claims = tokio::select! {
                () = stopped(&mut stop) => break,
                claims = claimed(&mut claiming) => Some(claims),
                () = work.announced() => None,
                Some(ended) = over.recv() => {
                    desk.note(&ended);
                    None
                }
                () = tokio::time::sleep_until(until) => None,
            };
            if let Some(claims) = claims {
                self.take(claims).await;
            }
        }
        if claiming.is_some() {
            let claims = claimed(&mut claiming).await;
            self.take(claims).await;
        }
        let all = self.desk.at_hand.all();
        self.give_back(all).await;
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

    /// Begins to claim what is due, if there is anything and room for it.
    fn claim(&self) -> Option<Claiming> {
        let bytes_max = BYTES_MAX.saturating_sub(self.desk.bytes);
        if bytes_max == 0 {
            return None;
        }
        let wants = self.desk.board.choose(Instant::now());
        if wants.is_empty() || self.equipment.store.can_accept().is_err() {
            return None;
        }
        let lease = self.equipment.options.lease();
        let request = ClaimRequest { wants: wants.clone(), lease, bytes_max };
        let store = Arc::clone(&self.equipment.store);
        let claims = async move { store.claim(request).await };
        // By the worker's own clock a lease ends before it does by the store's.
        Some(Claiming { wants, lease_end: Instant::now() + lease, claims: claims.boxed() })
    }

    /// Takes what was claimed to hand.
    async fn take(&mut self, (claiming, claims): (Claiming, Result<Claims, StoreError>)) {
        let claims = match claims {
            Ok(claims) => claims,
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "deliveries could not be claimed; they wait");
                return self.desk.backoff.pause().await;
            }
        };
        let (desk, now) = (&mut *self.desk, Instant::now());
        desk.backoff.reset();
        desk.board.update(&claiming.wants, &claims.due, now);
        for endpoint in &claims.unreadable {
            desk.board.block(*endpoint, now + UNREADABLE_WAIT);
        }
        if let Some(last) = claims.deliveries.last() {
            desk.board.served(last.key.endpoint);
            fault_point!(AfterClaim);
        }
        let ran_out = claims.deliveries.iter().filter(|claimed| claimed.lane == Lane::Leased);
        self.equipment.metrics.leases_expired(ran_out.count() as u64);
        for claimed in claims.deliveries {
            desk.board.hold(claimed.key.endpoint);
            desk.bytes += claimed.data.len();
            desk.at_hand.hold(Held { claimed, lease_end: claiming.lease_end, since: now });
        }
    }

    /// Begins what is at hand and may have a slot.
    async fn begin_all(&mut self) {
        // A store that cannot take outcomes would have every delivery made again.
        if self.equipment.store.can_accept().is_err() {
            return;
        }
        for endpoint in self.desk.at_hand.turns() {
            if !self.desk.board.may_begin(endpoint) {
                continue;
            }
            if !self.still_goes(endpoint) {
                let all = self.desk.at_hand.all_of(endpoint);
                self.give_back(all).await;
            }
            while self.desk.board.may_begin(endpoint)
                && let Some(held) = self.desk.at_hand.take(endpoint)
            {
                self.desk.board.let_go(endpoint);
                self.begin(held).await;
            }
        }
    }

    /// Whether an endpoint still is what it was when the first that waits for it was claimed. It may have
    /// been removed or disabled since, or have another secret.
    fn still_goes(&self, endpoint: EndpointNo) -> bool {
        let Some(first) = self.desk.at_hand.first(endpoint) else { return true };
        let Some(endpoints) = self.equipment.store.endpoints_at_once() else { return true };
        match endpoints.endpoint(endpoint) {
            Ok(now) => now.is_some_and(|now| now == first.claimed.endpoint),
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "an endpoint could not be read; its deliveries wait");
                false
            }
        }
    }

    /// Gives back what waits for a slot for too long.
    async fn give_back_overdue(&mut self) {
        let overdue = self.desk.at_hand.overdue(Instant::now());
        for held in &overdue {
            self.desk.board.slowed(held.claimed.key.endpoint);
        }
        self.give_back(overdue).await;
    }

    async fn give_back(&mut self, all: Vec<Held>) {
        for Held { claimed, lease_end, .. } in all {
            self.desk.board.let_go(claimed.key.endpoint);
            self.desk.bytes = self.desk.bytes.saturating_sub(claimed.data.len());
            self.settle(&claimed, Verdict::Release, None, lease_end).await;
        }
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
    async fn begin(&mut self, Held { claimed, lease_end, .. }: Held) {
        let desk = &mut *self.desk;
        let target = match desk.guard.admit(&claimed) {
            Ok(target) => target,
            Err(obstacle) => {
                desk.bytes = desk.bytes.saturating_sub(claimed.data.len());
                return self.stumble(&claimed, &obstacle, lease_end).await;
            }
        };
        let slot = Slot::take(&mut desk.board, &claimed, desk.tell_over.clone());
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

/// Waits for a claim that is under way; for ever when none is.
async fn claimed(claiming: &mut Option<Claiming>) -> (Claiming, Result<Claims, StoreError>) {
    let Some(under_way) = claiming else { return std::future::pending().await };
    let claims = (&mut under_way.claims).await;
    let claiming = claiming.take().expect("it was there before it ended");
    (claiming, claims)
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    // Who cannot tell any more is gone, and wants it to end.
    let _ = stop.wait_for(|stop| *stop).await;
}
