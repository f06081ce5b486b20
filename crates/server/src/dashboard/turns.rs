//! Work that takes memory and processors, a few at a time. A turn goes into the work itself: whoever hangs
//! up gives none back before the work that nobody waits for any more has ended.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::refusal::Refusal;
use crate::api::Problem;

/// How many may work at a time, and how many may wait besides.
#[derive(Debug)]
pub(super) struct Turns {
    running: Arc<Semaphore>,
    places: Arc<Semaphore>,
}

/// A turn, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _running: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Turns {
    pub(super) fn new(at_a_time: usize, waiting_max: usize) -> Self {
        let places = Arc::new(Semaphore::new(at_a_time + waiting_max));
        Self { running: Arc::new(Semaphore::new(at_a_time)), places }
    }

    /// Waits for a turn, unless so many wait that this one is sent away, with the reason.
    pub(super) async fn take(&self, why_not: &'static str) -> Result<Turn, Refusal> {
        let busy = || Problem::unavailable(why_not, None);
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| busy())?;
        let running = Arc::clone(&self.running).acquire_owned().await.map_err(|_| busy())?;
        Ok(Turn { _running: running, _place: place })
    }
}

/// Does work that keeps a thread busy, and lets go of its turn when that has ended.
pub(super) async fn at_turn<T: Send + 'static>(
    turn: Turn,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<(Turn, T), Refusal> {
    let done = tokio::task::spawn_blocking(move || {
        let done = work();
        (turn, done)
    });
    Ok(done.await.map_err(|error| Problem::internal(Arc::new(error)))?)
}
