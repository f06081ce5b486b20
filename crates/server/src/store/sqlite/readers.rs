//! Connections that only read.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::fault::closed;
use super::turns::Turns;
use crate::store::StoreError;

/// Opens one read-only connection, which keeps so many KiB of pages in memory.
type Open = Box<dyn Fn(u32) -> rusqlite::Result<Connection> + Send + Sync>;

/// KiB of pages that a connection keeps in memory at least: enough for the upper levels of what it
/// searches.
pub(super) const CACHE_MIN: u32 = 8 << 10;

/// Lends a connection per read, and another when all are lent, so that a tiny read never waits for a
/// large one. Large reads have connections of their own: what passes through them once must not push
/// out what is read often.
pub(super) struct Readers {
    open: Open,
    turns: Arc<Turns>,
    small: Pool,
    large: Pool,
    /// Large reads at the same time.
    large_turns: Arc<Semaphore>,
    closed: AtomicBool,
}

/// Idle connections, the one that came back last on top.
struct Pool {
    idle: Mutex<Vec<Connection>>,
    /// How many are kept.
    keep: usize,
    /// KiB of pages that each keeps in memory.
    cache: AtomicU32,
}

impl Readers {
    /// Readers that make so many large reads at a time.
    pub(super) fn new(open: Open, turns: Arc<Turns>, large: usize) -> Self {
        // Small reads are made on the threads of the runtime.
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            open,
            turns,
            small: Pool::new(threads),
            large: Pool::new(large),
            large_turns: Arc::new(Semaphore::new(large)),
            closed: AtomicBool::new(false),
        }
    }

    /// Lets small reads keep so many KiB of pages in memory, all together; each connection that is opened
    /// from now on has its part.
    pub(super) fn keep_pages(&self, cache: u32) {
        let each = cache / u32::try_from(self.small.keep).unwrap_or(u32::MAX);
        self.small.cache.store(each.max(CACHE_MIN), Ordering::Relaxed);
    }

    /// Reads on this thread: for lookups, and pages without a large item.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.read_by(&self.small, work)
    }

    /// Reads on a thread that may block: for pages with large items, which can be many
    /// megabytes.
    pub(super) async fn read_large<T, F>(self: Arc<Self>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let turn = Arc::clone(&self.large_turns).acquire_owned().await.map_err(|_| closed())?;
        let read = move || {
            let _turn = turn;
            self.read_by(&self.large, work)
        };
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|panic| StoreError::Internal(Box::new(panic)))?
    }

    fn read_by<T>(
        &self,
        pool: &Pool,
        work: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(closed());
        }
        let idle = pool.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => (self.open)(pool.cache.load(Ordering::Relaxed))?,
        };
        let outcome = {
            let _turn = self.turns.read();
            work(&connection)
        };
        let mut idle = pool.idle();
        if idle.len() < pool.keep && !self.closed.load(Ordering::Acquire) {
            idle.push(connection);
        }
        outcome
    }

    /// Refuses further reads and closes idle connections; lent ones close when they come back.
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.large_turns.close();
        self.small.idle().clear();
        self.large.idle().clear();
    }
}

impl Pool {
    fn new(keep: usize) -> Self {
        Self { idle: Mutex::default(), keep, cache: AtomicU32::new(CACHE_MIN) }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Readers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Readers").field("keep", &self.small.keep).finish_non_exhaustive()
    }
}
