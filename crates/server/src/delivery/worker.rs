//! The worker: looks at what is due, claims it, and sends runners on their way.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;

use super::at_hand::{Held, Seen};
use super::desk::Desk;
use super::runner::{self, UNREADABLE_WAIT};
use super::select::Asked;
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::store::{ClaimRequest, Claims, Lane, StoreError, WorkSignal};
use crate::supervise::Backoff;

/// How often the whole queue is looked at, for what nobody announced: another process's work, or
/// claims that ran out.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often the length of the queue is counted, which takes longer the longer it is.
const COUNT_EVERY: Duration = Duration::from_secs(15);

/// Who sees to it that everything is attempted.
pub(super) struct Worker {
    desk: Arc<Desk>,
    work: Arc<WorkSignal>,
    look_again: Instant,
    count_again: Instant,
    backoff: Backoff,
}

/// A claim under way.
struct Claiming {
    asked: Asked,
    lease_end: Instant,
    /// How it sees endpoints, at the earliest.
    seen: Seen,
    claims: BoxFuture<'static, Result<Claims, StoreError>>,
}

impl Worker {
    pub(super) fn new(desk: Arc<Desk>) -> Self {
        let (work, now) = (desk.equipment.store.work(), Instant::now());
        Self { desk, work, look_again: now, count_again: now, backoff: Backoff::default() }
    }

    /// Works until told to stop; then gives back what is at hand.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        // At most one claim is under way.
        let mut claiming = None;
        while !*stop.borrow() {
            let announced = self.work.take();
            self.desk.books().board.announce(&announced, Instant::now());
            if Instant::now() >= self.look_again {
                self.look().await;
            }
            let overdue = self.desk.books().let_go_overdue(Instant::now());
            self.desk.give_back(overdue).await;
            self.begin_all().await;
            if claiming.is_none() {
                claiming = self.claim();
            }
            let (in_flight, next) = {
                let board = &self.desk.books().board;
                (board.under_way(), board.next_due(Instant::now()))
            };
            self.desk.equipment.metrics.set_in_flight(in_flight);
            let next = if claiming.is_some() { None } else { next };
            let until = next.unwrap_or(self.look_again).min(self.look_again);
            let claims = tokio::select! {
                () = stopped(&mut stop) => break,
                claims = claimed(&mut claiming) => Some(claims),
                () = self.work.announced() => None,
                () = self.desk.call.notified() => None,
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
        let all = self.desk.books().let_go_of_everything();
        self.desk.give_back(all).await;
    }

    /// Looks at the front of every lane.
    async fn look(&mut self) {
        let equipment = &self.desk.equipment;
        match equipment.store.due().await {
            Ok(due) => {
                let overdue = due.iter().filter(|due| due.after.is_zero()).map(|due| due.overdue);
                equipment.metrics.set_oldest_due(overdue.max().unwrap_or_default());
                self.desk.books().board.refresh(&due, Instant::now());
            }
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "the queue could not be looked at");
            }
        }
        let now = Instant::now();
        self.look_again = now + LOOK_EVERY;
        if now >= self.count_again {
            self.count_again = now + COUNT_EVERY;
            // A gauge that is late is no reason to hold up deliveries.
            let (store, metrics) = (Arc::clone(&equipment.store), Arc::clone(&equipment.metrics));
            tokio::spawn(async move {
                if let Ok(backlog) = store.backlog().await {
                    metrics.set_unfinished(backlog.unfinished);
                }
            });
        }
    }

    /// Begins to claim what is due, if there is anything and room for it.
    fn claim(&self) -> Option<Claiming> {
        let equipment = &self.desk.equipment;
        if equipment.store.can_accept().is_err() {
            return None;
        }
        let (seen, lease) = (self.desk.looking(), equipment.options.lease());
        let mut books = self.desk.books();
        let (wants, bytes_max) = books.choose(seen.at);
        if bytes_max == 0 || wants.is_empty() {
            return None;
        }
        let asked = books.board.ask(&wants);
        drop(books);
        let request = ClaimRequest { wants, lease, bytes_max };
        let store = Arc::clone(&equipment.store);
        let claims = async move { store.claim(request).await };
        // By the worker's own clock a lease ends before it does by the store's.
        Some(Claiming { asked, lease_end: seen.at + lease, seen, claims: claims.boxed() })
    }

    /// Takes what was claimed to hand.
    async fn take(&mut self, (claiming, claims): (Claiming, Result<Claims, StoreError>)) {
        let claims = match claims {
            Ok(claims) => claims,
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "deliveries could not be claimed; they wait");
                self.desk.books().board.unanswered(claiming.asked);
                return self.backoff.pause().await;
            }
        };
        self.backoff.reset();
        let ran_out = claims.deliveries.iter().filter(|claimed| claimed.lane == Lane::Leased);
        self.desk.equipment.metrics.leases_expired(ran_out.count() as u64);
        let stale = self.take_to_hand(&claiming, claims);
        self.desk.give_back(stale).await;
    }

    /// Takes claims to hand; what is no longer to be attempted as it was claimed comes back.
    fn take_to_hand(&self, claiming: &Claiming, claims: Claims) -> Vec<Held> {
        let (mut books, now) = (self.desk.books(), Instant::now());
        books.board.found(&claims.due, now);
        for endpoint in &claims.unreadable {
            books.board.block(*endpoint, now + UNREADABLE_WAIT);
        }
        if let Some(last) = claims.deliveries.last() {
            books.board.served(last.key.endpoint);
            fault_point!(AfterClaim);
        }
        let mut stale = Vec::new();
        for claimed in claims.deliveries {
            let held = Held { claimed, lease_end: claiming.lease_end, since: now };
            stale.extend(books.hold(held, claiming.seen));
        }
        stale
    }

    /// Begins what is at hand and may have a slot.
    async fn begin_all(&mut self) {
        // A store that cannot take outcomes would have every delivery made again.
        if self.desk.equipment.store.can_accept().is_err() {
            return;
        }
        let turns = self.desk.books().at_hand.turns();
        for endpoint in turns {
            if !self.desk.books().board.may_begin(endpoint) {
                continue;
            }
            if !self.desk.still_goes(endpoint) {
                let all = self.desk.books().let_go_all(endpoint);
                self.desk.give_back(all).await;
                continue;
            }
            let mut begun = Vec::new();
            begun.extend(std::iter::from_fn(|| self.desk.books().begin(&self.desk, endpoint)));
            // Not under the lock: where nothing can be spawned any more, the slot is dropped at once.
            for (held, slot) in begun {
                tokio::spawn(runner::run(held, slot));
            }
        }
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
