//! Deliveries as a whole: what they are made with, and how they begin and end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinHandle;

use super::attempt::Carrier;
use super::desk::Desk;
use super::observer::AttemptObserver;
use super::options::DeliveryOptions;
use super::random::Random;
use super::settle::{self, Unrecorded};
use super::worker::Worker;
use crate::causes::on_one_line;
use crate::metrics::Metrics;
use crate::secrets::Vault;
use crate::store::{Clock, Store};
use crate::supervise::{Backoff, supervise};

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
    let desk = Arc::new(Desk::new(equipment, observer, outcomes, alive));
    supervise("deliveries", || Worker::new(Arc::clone(&desk)).run(stop.clone())).await;
    drop(desk);
    // Nobody sends anything: this ends when the last attempt has let go of the desk.
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
