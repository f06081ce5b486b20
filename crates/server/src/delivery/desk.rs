//! What a worker and its runners share: the books of what is due, at hand and under way, and what
//! attempts are made with.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::at_hand::{AtHand, Held, Seen};
use super::guard::Guard;
use super::observer::AttemptObserver;
use super::running::Equipment;
use super::select::{Board, Reached};
use super::settle::Unrecorded;
use crate::causes::on_one_line;
use crate::store::{
    Attempt, Claimed, EndpointNo, EndpointsAtOnce, Lane, Settlement, Verdict, Want,
};

/// Bytes of answers on their way at a time, so that a hundred large ones to endpoints that hang do not
/// fill the memory.
const BYTES_MAX: usize = 32 << 20;
/// Of these, bytes of answers that wait for a slot: whoever has large ones leaves room for the others.
const BYTES_AHEAD_MAX: usize = 4 << 20;

/// What is shared. It outlasts a worker that panics, so that the attempts it began keep their slots.
pub(super) struct Desk {
    pub(super) equipment: Equipment,
    pub(super) observer: Option<Arc<dyn AttemptObserver>>,
    outcomes: mpsc::Sender<Unrecorded>,
    books: Mutex<Books>,
    /// Tells the worker that there is something for it to do.
    pub(super) call: Notify,
    /// Lets those who stop the service wait for the last attempt.
    _alive: mpsc::Sender<()>,
}

/// The outcome of a claim.
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    /// The attempt to record, if one is used.
    pub(super) attempt: Option<Attempt>,
    /// Whether this service, not the endpoint, was at fault.
    pub(super) own_fault: bool,
}

/// What is known, in one place.
pub(super) struct Books {
    pub(super) board: Board,
    pub(super) at_hand: AtHand,
    pub(super) guard: Guard,
    /// Bytes of answers at hand and on their way.
    bytes: usize,
    /// Of these, those at hand.
    bytes_at_hand: usize,
}

impl Desk {
    pub(super) fn new(
        equipment: Equipment,
        observer: Option<Arc<dyn AttemptObserver>>,
        outcomes: mpsc::Sender<Unrecorded>,
        alive: mpsc::Sender<()>,
    ) -> Self {
        let may_claim_ahead = equipment.store.endpoints_at_once().is_some();
        let books = Books {
            board: Board::new(equipment.options.slots, may_claim_ahead),
            at_hand: AtHand::default(),
            guard: Guard::new(equipment.vault.clone()),
            bytes: 0,
            bytes_at_hand: 0,
        };
        let (books, call) = (Mutex::new(books), Notify::new());
        Self { equipment, observer, outcomes, books, call, _alive: alive }
    }

    pub(super) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands the outcome of a claim on to be recorded.
    pub(super) async fn settle(&self, claimed: &Claimed, outcome: Outcome, lease_end: Instant) {
        let (key, lease, Outcome { verdict, attempt, own_fault }) =
            (claimed.key, claimed.lease, outcome);
        let settlement = Settlement { key, lease, verdict, attempt, own_fault };
        // The recording task ends after the last attempt; without it the lease runs out.
        let _ = self.outcomes.send(Unrecorded::of(claimed, settlement, lease_end)).await;
    }

    /// Gives back what was claimed and is not attempted.
    pub(super) async fn give_back(&self, all: Vec<Held>) {
        for Held { claimed, lease_end, .. } in all {
            let outcome = Outcome { verdict: Verdict::Release, attempt: None, own_fault: false };
            self.settle(&claimed, outcome, lease_end).await;
        }
    }

    /// How an endpoint would be seen by a look at it now.
    pub(super) fn looking(&self) -> Seen {
        let endpoints = self.equipment.store.endpoints_at_once();
        let changes = endpoints.map_or(0, EndpointsAtOnce::changes);
        Seen { at: Instant::now(), changes }
    }

    /// Whether what was claimed for an endpoint may still go there: by what was seen a moment ago, else by
    /// a look. It may have been removed or disabled since, or have another secret.
    ///
    /// Where nobody can look nothing is claimed ahead of slots, and what is at hand was claimed to begin at once.
    pub(super) fn still_goes(&self, endpoint: EndpointNo) -> bool {
        let Some(endpoints) = self.equipment.store.endpoints_at_once() else { return true };
        let now = self.looking();
        let claimed = {
            let books = self.books();
            if books.at_hand.is_seen(endpoint, now) {
                return true;
            }
            books.at_hand.endpoint(endpoint).map(Arc::clone)
        };
        match endpoints.endpoint(endpoint) {
            Ok(found) if found == claimed => {
                self.books().at_hand.see(endpoint, now);
                true
            }
            Ok(_) => false,
            Err(error) => {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "an endpoint could not be read; its deliveries wait");
                false
            }
        }
    }
}

impl Books {
    /// Bytes of answers that may still be claimed.
    fn bytes_left(&self) -> usize {
        BYTES_MAX.saturating_sub(self.bytes)
    }

    /// What to claim now, and how many bytes of answers it may have: what has a slot, and if there is nothing,
    /// what is worth having at hand.
    pub(super) fn choose(&self, now: Instant) -> (Vec<Want>, usize) {
        let (wants, bytes) = (self.board.choose(now), self.bytes_left());
        if !wants.is_empty() {
            return (wants, bytes);
        }
        let ahead = BYTES_AHEAD_MAX.saturating_sub(self.bytes_at_hand);
        (self.board.choose_ahead(now), bytes.min(ahead))
    }

    /// Takes a claimed delivery to hand, whose endpoint was seen so. What waits for the endpoint as it was
    /// before is let go, and to be given back.
    pub(super) fn hold(&mut self, mut held: Held, seen: Seen) -> Vec<Held> {
        let endpoint = held.claimed.key.endpoint;
        let mut stale = Vec::new();
        match self.at_hand.endpoint(endpoint) {
            Some(known) if *known == held.claimed.endpoint => {
                // One endpoint is then told from another at a glance.
                held.claimed.endpoint = Arc::clone(known);
            }
            Some(_) => stale = self.let_go_all(endpoint),
            None => {}
        }
        self.board.hold(endpoint);
        self.bytes += held.claimed.data.len();
        self.bytes_at_hand += held.claimed.data.len();
        self.at_hand.hold(held, seen);
        stale
    }

    /// Takes everything for an endpoint out of hand.
    pub(super) fn let_go_all(&mut self, endpoint: EndpointNo) -> Vec<Held> {
        let all = self.at_hand.all_of(endpoint);
        self.let_go(&all);
        all
    }

    /// Takes out of hand what waited for too long: its endpoint is slower than it was.
    pub(super) fn let_go_overdue(&mut self, now: Instant) -> Vec<Held> {
        let overdue = self.at_hand.overdue(now);
        for held in &overdue {
            self.board.slowed(held.claimed.key.endpoint);
        }
        self.let_go(&overdue);
        overdue
    }

    /// Takes everything out of hand.
    pub(super) fn let_go_of_everything(&mut self) -> Vec<Held> {
        let all = self.at_hand.all();
        self.let_go(&all);
        all
    }

    fn let_go(&mut self, all: &[Held]) {
        for Held { claimed, .. } in all {
            self.board.let_go(claimed.key.endpoint);
            self.bytes = self.bytes.saturating_sub(claimed.data.len());
            self.bytes_at_hand = self.bytes_at_hand.saturating_sub(claimed.data.len());
        }
    }

    /// Takes a delivery that waits for an endpoint into a slot, if one may begin.
    pub(super) fn begin(&mut self, desk: &Arc<Desk>, endpoint: EndpointNo) -> Option<(Held, Slot)> {
        if !self.board.may_begin(endpoint) {
            return None;
        }
        let held = self.at_hand.take(endpoint)?;
        self.board.let_go(endpoint);
        self.bytes_at_hand = self.bytes_at_hand.saturating_sub(held.claimed.data.len());
        let is_late = held.claimed.lane != Lane::Fresh;
        self.board.begin(endpoint, is_late);
        let over = Over {
            endpoint,
            is_late,
            bytes: held.claimed.data.len(),
            reached: Reached::Unknown,
            took: Duration::ZERO,
            again: None,
        };
        Some((held, Slot { desk: Arc::clone(desk), over, is_free: false }))
    }

    /// An attempt is over; says whether the worker should look at what it left.
    fn end(&mut self, over: &Over, now: Instant) -> bool {
        let was_full = self.bytes_left() == 0;
        self.board.end(over.endpoint, over.is_late, over.reached, over.took);
        self.bytes = self.bytes.saturating_sub(over.bytes);
        if let Some(again) = over.again {
            self.board.put_off(over.endpoint, now + again);
        }
        was_full || over.again.is_some()
    }
}

/// An attempt that is over, as the board hears of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over {
    endpoint: EndpointNo,
    is_late: bool,
    /// Bytes of answers it had.
    bytes: usize,
    pub(super) reached: Reached,
    /// How long it took.
    pub(super) took: Duration,
    /// How long until the delivery is due again, if it will be.
    pub(super) again: Option<Duration>,
}

/// Room that an attempt takes up on the board. When it is dropped, however that comes about, the board
/// hears that the attempt is over.
pub(super) struct Slot {
    desk: Arc<Desk>,
    pub(super) over: Over,
    is_free: bool,
}

impl Slot {
    pub(super) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// Frees the slot, and takes the next delivery that waits for the endpoint, if slots are plenty and it
    /// may still go there. Without one the worker sees to what comes next.
    pub(super) fn go_on(mut self) -> Option<(Held, Self)> {
        self.is_free = true;
        let (desk, endpoint) = (&self.desk, self.over.endpoint);
        let now = desk.looking();
        let can_accept = desk.equipment.store.can_accept().is_ok();
        // Before the books: a slot that is dropped opens them.
        let next;
        let mut books = desk.books();
        let is_new = books.end(&self.over, now.at);
        let goes_on =
            can_accept && books.board.may_go_on(endpoint) && books.at_hand.is_seen(endpoint, now);
        next = if goes_on { books.begin(desk, endpoint) } else { None };
        let is_called = is_new || next.is_none() || books.board.has_work(endpoint, now.at);
        drop(books);
        if is_called {
            desk.call.notify_one();
        }
        next
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.is_free {
            self.desk.books().end(&self.over, Instant::now());
            self.desk.call.notify_one();
        }
    }
}
