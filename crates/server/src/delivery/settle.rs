//! Recording outcomes: those that come within a moment of each other share a transaction.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc};
use tokio::time::Instant;

use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::metrics::Metrics;
use crate::store::{Claimed, DeliveryState, Settled, Settlement, Store, Verdict};
use crate::supervise::Backoff;

/// Outcomes recorded in one transaction.
const TOGETHER_MAX: usize = 256;
/// Outcomes that may wait; attempts beyond them keep their slots until there is room.
pub(super) const WAITING_MAX: usize = 1_024;

/// A settlement that waits to be recorded.
#[derive(Debug)]
pub(super) struct Unrecorded {
    settlement: Settlement,
    /// When the claim it is under may be somebody else's.
    lease_end: Instant,
    /// Whether attempts were still to come when it was claimed.
    was_unfinished: bool,
}

impl Unrecorded {
    /// The settlement of a claimed delivery.
    pub(super) fn of(claimed: &Claimed, settlement: Settlement, lease_end: Instant) -> Self {
        Self { settlement, lease_end, was_unfinished: claimed.state.is_unfinished() }
    }
}

/// Where outcomes come in; lasts longer than a loop that reads it.
pub(super) type Outcomes = Arc<Mutex<mpsc::Receiver<Unrecorded>>>;

/// Records outcomes until nobody can send any more. What cannot be recorded is tried again until the
/// lease is over; then the delivery is claimed, and attempted, again.
pub(super) async fn record(
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    linger: Duration,
    outcomes: Outcomes,
) {
    let mut outcomes = outcomes.lock().await;
    let mut waiting = Vec::with_capacity(TOGETHER_MAX);
    while outcomes.recv_many(&mut waiting, TOGETHER_MAX).await > 0 {
        gather(&mut outcomes, &mut waiting, linger).await;
        record_together(&*store, &metrics, std::mem::take(&mut waiting)).await;
    }
}

/// Waits a moment for more. A commit costs the same for one outcome as for many.
async fn gather(
    outcomes: &mut mpsc::Receiver<Unrecorded>,
    waiting: &mut Vec<Unrecorded>,
    linger: Duration,
) {
    if linger.is_zero() || waiting.len() >= TOGETHER_MAX {
        return;
    }
    tokio::time::sleep(linger).await;
    while waiting.len() < TOGETHER_MAX {
        match outcomes.try_recv() {
            Ok(outcome) => waiting.push(outcome),
            Err(_) => break,
        }
    }
}

/// Records outcomes, and counts what became of them.
async fn record_together(store: &dyn Store, metrics: &Metrics, mut outcomes: Vec<Unrecorded>) {
    let mut backoff = Backoff::default();
    loop {
        let (now, before) = (Instant::now(), outcomes.len());
        outcomes.retain(|outcome| outcome.lease_end > now);
        metrics.leases_lost((before - outcomes.len()) as u64);
        if outcomes.is_empty() {
            return;
        }
        let settlements = outcomes.iter().map(|outcome| outcome.settlement.clone()).collect();
        fault_point!(BeforeSettle);
        match store.settle(settlements).await {
            Ok(settled) => {
                fault_point!(AfterSettle);
                return count(metrics, &outcomes, &settled);
            }
            Err(error) => {
                let (waiting, cause) = (outcomes.len(), on_one_line(&error));
                tracing::warn!(waiting, cause, "outcomes could not be recorded; they are kept");
                backoff.pause().await;
            }
        }
    }
}

fn count(metrics: &Metrics, outcomes: &[Unrecorded], settled: &[Settled]) {
    for (outcome, settled) in outcomes.iter().zip(settled) {
        match (settled, outcome.settlement.verdict) {
            (Settled::Lost, _) => metrics.leases_lost(1),
            // A resend that changes nothing is no end.
            (Settled::Kept, _) if !outcome.was_unfinished => {}
            (Settled::Kept, Verdict::Delivered) => {
                metrics.delivery_finished(DeliveryState::Delivered);
            }
            (Settled::Kept, Verdict::Failed) => metrics.delivery_finished(DeliveryState::Failed),
            // Of what was refused the store told why.
            (Settled::Kept | Settled::Refused, _) => {}
        }
    }
}
