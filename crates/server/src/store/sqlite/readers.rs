//! Connections that only read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::fault::closed;
use super::turns::Turns;
use crate::store::StoreError;

/// Opens one read-only connection.
type Open = Box<dyn Fn() -> rusqlite::Result<Connection> + Send + Sync>;

/// A pool that lends a connection per read and grows when all are lent, so that a tiny read never
/// waits for a large one.
pub(super) struct Readers {
    open: Open,
    turns: Arc<Turns>,
    idle: Mutex<Vec<Connection>>,
    /// Idle connections kept.
    keep: usize,
    /// Large reads at the same time.
    large: Arc<Semaphore>,
    closed: AtomicBool,
}

impl Readers {
    /// A pool of about `size` connections.
    pub(super) fn new(open: Open, turns: Arc<Turns>, size: usize) -> Self {
        let (idle, large) = (Mutex::new(Vec::new()), Arc::new(Semaphore::new(size)));
        Self { open, turns, idle, keep: 2 * size, large, closed: AtomicBool::new(false) }
    }

    /// Reads on this thread: for lookups, and pages without a large item.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let connection = self.lend()?;
        let outcome = {
            let _turn = self.turns.read();
            work(&connection)
        };
        self.take_back(connection);
        outcome
    }

    /// Reads on a thread that may block: for pages with large items, which can be many
    /// megabytes.
    pub(super) async fn read_large<T, F>(self: Arc<Self>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let permit = Arc::clone(&self.large).acquire_owned().await.map_err(|_| closed())?;
        let read = move || {
            let _permit = permit;
            self.read(work)
        };
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|panic| StoreError::Internal(Box::new(panic)))?
    }

    /// Refuses further reads and closes idle connections; lent ones close when they come back.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.large.close();
        self.idle().clear();
    }

    fn lend(&self) -> Result<Connection, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let idle = self.idle().pop();
        Ok(match idle {
            Some(connection) => connection,
            None => (self.open)()?,
        })
    }

    fn take_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if idle.len() < self.keep && !self.closed.load(Ordering::Acquire) {
            idle.push(connection);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").field("keep", &self.keep).finish_non_exhaustive()
    }
}
