//! The accept loop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::connection;
use super::peers::Peers;
use super::{Peer, Phase, ServeOptions};
use crate::api::Edge;
use crate::metrics::Metrics;

/// Pause after the system had nothing to accept with: no file descriptors, no memory.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);
/// A state that lasts is logged once in so long.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// When something was logged last.
#[derive(Default)]
struct Told(Option<Instant>);

impl Told {
    /// Whether to log it at an instant; counts as logged then.
    fn is_due(&mut self, now: Instant) -> bool {
        let due = self.0.is_none_or(|last| now.duration_since(last) >= TOLD_EVERY);
        if due {
            self.0 = Some(now);
        }
        due
    }
}

/// The connections there may be.
pub(super) struct Slots {
    free: Arc<Semaphore>,
    max: u32,
    open: Arc<AtomicUsize>,
    metrics: Arc<Metrics>,
}

/// A connection that is counted while this lives.
struct Slot {
    open: Arc<AtomicUsize>,
    metrics: Arc<Metrics>,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Slots {
    pub(super) fn new(max: u32, metrics: Arc<Metrics>) -> Self {
        Self { free: Arc::new(Semaphore::new(max as usize)), max, open: Arc::default(), metrics }
    }

    /// Connections open now.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Waits until there is no connection; only once nothing is accepted any more.
    pub(super) async fn all_free(&self) {
        // Fails only for a closed semaphore, and nobody closes it.
        let _ = self.free.acquire_many(self.max).await;
    }

    fn occupy(&self, permit: Option<OwnedSemaphorePermit>) -> Slot {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.metrics.connection_opened();
        let (open, metrics) = (Arc::clone(&self.open), Arc::clone(&self.metrics));
        Slot { open, metrics, _permit: permit }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
        self.metrics.connection_closed();
    }
}

/// Accepts until the phase changes. A failed accept never ends it.
pub(super) async fn accept(
    listener: TcpListener,
    edge: Edge,
    options: ServeOptions,
    slots: Arc<Slots>,
    mut phase: watch::Receiver<Phase>,
) {
    let peers = Arc::new(Peers::new(&options));
    let options = Arc::new(options);
    let [mut full, mut greedy, mut exhausted] = [const { Told(None) }; 3];
    loop {
        if slots.free.available_permits() == 0 && full.is_due(Instant::now()) {
            let connections = options.connections_max;
            tracing::warn!(connections, "every connection slot is taken; new ones wait");
        }
        let accepted = async {
            // Taken before accepting, so that those beyond the cap wait in the system's queue.
            let permit = Arc::clone(&slots.free).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            _ = phase.changed() => return,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                // Closed by being dropped: an answer would cost what the cap is to save.
                let Some(counted) = peers.enter(peer.ip()) else {
                    if greedy.is_due(Instant::now()) {
                        let connections = options.connections_per_peer;
                        tracing::warn!(connections, "a peer has all it may have; more are closed");
                    }
                    continue;
                };
                let (edge, options, phase) = (edge.clone(), Arc::clone(&options), phase.clone());
                let slot = slots.occupy(permit.ok());
                tokio::spawn(async move {
                    without_delay(&stream);
                    connection::serve(stream, Peer(peer), edge, &options, phase).await;
                    drop((slot, counted));
                });
            }
            Err(error) => {
                if let Some(pause) = pause_after(&error) {
                    if exhausted.is_due(Instant::now()) {
                        tracing::error!(%error, "cannot accept connections");
                    }
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

/// Responses are written whole, so that waiting to fill a packet only delays them.
fn without_delay(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
}

/// How long to wait after a failed accept: not at all when one client went away meanwhile.
fn pause_after(error: &io::Error) -> Option<Duration> {
    let of_one_client = matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    );
    (!of_one_client).then_some(EXHAUSTED_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_lasts_is_told_now_and_then() {
        let (mut told, began) = (Told::default(), Instant::now());
        let told = (0..60).filter(|n| told.is_due(began + EXHAUSTED_PAUSE * *n));
        assert_eq!(told.collect::<Vec<_>>(), [0, 25, 50]);
    }

    #[test]
    fn the_loop_pauses_when_the_system_is_exhausted_and_not_for_one_client() {
        const EMFILE: i32 = 24;
        const ENFILE: i32 = 23;
        const ENOMEM: i32 = 12;
        for code in [EMFILE, ENFILE, ENOMEM] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(pause_after(&error), Some(EXHAUSTED_PAUSE), "{error}");
        }
        for kind in [io::ErrorKind::ConnectionAborted, io::ErrorKind::ConnectionReset] {
            assert_eq!(pause_after(&kind.into()), None);
        }
    }
}
