//! The store itself: what it is made of, and how it is opened and put together.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use formsvc_protocol::{EndpointId, FormInstant};
use rusqlite::Connection;

use super::checkpoint::Checkpointer;
use super::endpoint_changes::EndpointChanges;
use super::intake::Gate;
use super::lock::ServerLock;
use super::open::{Found, Place, report_loose_mode};
use super::readers::Readers;
use super::turns::Turns;
use super::writer::{Desk, Writer};
use super::{OpenError, endpoints, schema, staged};
use crate::admin::new_id;
use crate::store::{
    Clock, Commit, EndpointNo, Lane, SchemaPolicy, SealedSecret, StoreObserver, WorkSignal,
};

/// Pages with large items read at the same time.
const LARGE_READS: usize = 4;
/// MiB of a file's pages that are kept in memory unless told otherwise.
pub const PAGE_CACHE_DEFAULT: u32 = 128;
/// KiB in a MiB.
const KIB: u32 = 1 << 10;

/// A store in one SQLite database.
///
/// A database in memory holds at most 1 GiB. Dropping the store without closing it loses nothing
/// that was answered: queued writes are still carried out, on a thread nobody waits for.
pub struct SqliteStore {
    pub(super) writer: Arc<Writer>,
    pub(super) readers: Arc<Readers>,
    /// None for a database in memory, which has no log.
    pub(super) checkpointer: Option<Arc<Checkpointer>>,
    pub(super) clock: Clock,
    /// What retries and leases are timed by.
    pub(super) steady: Clock,
    pub(super) gate: Arc<Gate>,
    pub(super) work: Arc<WorkSignal>,
    pub(super) observer: Observer,
    /// Lanes that get deliveries in the transaction under way.
    pub(super) woken: Woken,
    pub(super) endpoint_changes: Arc<EndpointChanges>,
    /// Tells each claim from every other, also from those of earlier processes.
    pub(super) next_claim: AtomicI64,
}

/// Lanes that get deliveries.
pub(super) type Woken = Arc<Mutex<Vec<(EndpointNo, Lane)>>>;
/// Whoever is told of commits, once there is one.
pub(super) type Observer = Arc<OnceLock<Arc<dyn StoreObserver>>>;

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").field("stats", &self.write_stats()).finish_non_exhaustive()
    }
}

/// Counts since the store was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteStats {
    /// Transactions committed.
    pub commits: u64,
    /// Writes in them, refused ones included.
    pub writes: u64,
    /// Transactions that failed, and every write in them.
    pub failed_commits: u64,
}

impl SqliteStore {
    /// Opens a database file beside other processes that may have it open; makes it when there is
    /// none, and refuses an older schema.
    pub fn open(path: &Path, clock: Clock) -> Result<Self, OpenError> {
        Self::open_with(path, SchemaPolicy::Create, clock)
    }

    /// Opens a database file beside other processes that may have it open. For commands.
    pub fn open_with(path: &Path, policy: SchemaPolicy, clock: Clock) -> Result<Self, OpenError> {
        Self::start(Place::file(path)?, policy, None, clock)
    }

    /// Whether there is a database of ours that this release can read and serve, or an empty file, and the
    /// sealed secrets of its endpoints. Changes nothing.
    pub fn inspect(path: &Path) -> Result<Vec<(EndpointId, SealedSecret)>, OpenError> {
        match Place::inspect(path)? {
            (_, Found::Empty) => Ok(Vec::new()),
            (connection, Found::Database) => {
                endpoints::sealed(&connection).map_err(OpenError::Unread)
            }
        }
    }

    /// Opens a database file as its one server: fails with [`OpenError::Locked`] when another
    /// server has it, upgrades an older schema, and removes imports that were given up. The lock ends with the process, or
    /// when [`close`](crate::store::Store::close) is done.
    pub fn open_exclusive(path: &Path, clock: Clock) -> Result<Self, OpenError> {
        let place = Place::file(path)?;
        let lock = place.path().map(ServerLock::take).transpose()?;
        if let Some(path) = place.path() {
            report_loose_mode(path);
        }
        Self::start(place, SchemaPolicy::Upgrade, lock.map(Arc::new), clock)
    }

    /// A new database in memory, gone when the store is.
    pub fn in_memory(clock: Clock) -> Result<Self, OpenError> {
        Self::start(Place::memory(), SchemaPolicy::Create, None, clock)
    }

    fn start(
        place: Place,
        policy: SchemaPolicy,
        lock: Option<Arc<ServerLock>>,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let connection = place.connect_writer(policy)?;
        schema::migrate(&connection, policy)?;
        if lock.is_some() {
            remove_given_up(&connection, clock());
        }
        Self::start_on(place, connection, lock, clock)
    }

    fn start_on(
        place: Place,
        connection: Connection,
        lock: Option<Arc<ServerLock>>,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let turns = Arc::new(Turns::new(place.is_memory()));
        let checkpointer = if place.is_memory() {
            None
        } else {
            let keep = Box::new(lock.clone());
            let own = place.connect_writer(SchemaPolicy::Require)?;
            Some(Arc::new(Checkpointer::start(own, Arc::clone(&turns), keep)?))
        };
        let gate = Arc::new(Gate::new(place.path()));
        let (work, woken) = (Arc::<WorkSignal>::default(), Woken::default());
        let observer = Observer::default();
        let endpoint_changes = Arc::<EndpointChanges>::default();
        let committed = {
            let signal = checkpointer.as_ref().map(|checkpointer| checkpointer.signal());
            let (gate, work, woken) = (Arc::clone(&gate), Arc::clone(&work), Arc::clone(&woken));
            let observer = Arc::clone(&observer);
            let endpoint_changes = Arc::clone(&endpoint_changes);
            Box::new(move |commit: Commit| {
                gate.committed(commit.succeeded);
                endpoint_changes.ended();
                if let (true, Some(signal)) = (commit.succeeded, &signal) {
                    signal.committed();
                }
                if let Some(observer) = observer.get() {
                    observer.committed(commit);
                }
                // After a failed commit too: a worker that looks in vain does no harm.
                let woken =
                    std::mem::take(&mut *woken.lock().unwrap_or_else(PoisonError::into_inner));
                if !woken.is_empty() {
                    work.announce(woken);
                }
            })
        };
        let desk = Desk {
            connection,
            turns: Arc::clone(&turns),
            clock: Arc::clone(&clock),
            delivered_to: Box::new(note_fresh(&woken)),
            committed,
            keep: Box::new(lock),
        };
        let in_memory = place.is_memory();
        let open = Box::new(move |cache| place.connect_reader(cache));
        let store = Self {
            writer: Arc::new(Writer::start(desk)?),
            readers: Arc::new(Readers::new(open, turns, LARGE_READS)),
            checkpointer,
            steady: Arc::clone(&clock),
            clock,
            gate,
            work,
            observer,
            woken,
            endpoint_changes,
            next_claim: AtomicI64::new(first_claim()),
        };
        // What is in memory is not kept there twice.
        Ok(if in_memory { store } else { store.with_page_cache(PAGE_CACHE_DEFAULT) })
    }

    /// Times retries and leases by a clock of their own, which should not step: see
    /// [`steady_clock`](crate::store::steady_clock). Without it they follow the store's clock.
    #[must_use]
    pub fn with_steady_clock(mut self, clock: Clock) -> Self {
        self.steady = clock;
        self
    }

    /// Keeps about so many MiB of the file's pages in memory at most, instead of [`PAGE_CACHE_DEFAULT`].
    /// They are shared out among the threads that read, each of which keeps 8 MiB at least, and are taken as
    /// pages are read. Without effect on connections that have read already: to be said first.
    #[must_use]
    pub fn with_page_cache(self, mib: u32) -> Self {
        self.readers.keep_pages(mib.saturating_mul(KIB));
        self
    }

    /// Lets at most so many writes share a commit, instead of 64: with 1 there is no group commit,
    /// which is what benchmarks compare it with.
    #[doc(hidden)]
    #[must_use]
    pub fn with_batch_max(self, writes: usize) -> Self {
        self.writer.set_batch_max(writes);
        self
    }

    /// How many transactions carried how many writes.
    pub fn write_stats(&self) -> WriteStats {
        let counters = &self.writer.counters;
        WriteStats {
            commits: counters.commits.load(Ordering::Relaxed),
            writes: counters.writes.load(Ordering::Relaxed),
            failed_commits: counters.failed_commits.load(Ordering::Relaxed),
        }
    }
}

/// Notes endpoints that get deliveries, to be announced after the commit.
fn note_fresh(woken: &Woken) -> impl Fn(&[EndpointNo]) + Send + 'static {
    let woken = Arc::clone(woken);
    move |endpoints| {
        if !endpoints.is_empty() {
            let mut woken = woken.lock().unwrap_or_else(PoisonError::into_inner);
            woken.extend(endpoints.iter().map(|endpoint| (*endpoint, Lane::Fresh)));
        }
    }
}

/// Where the numbers of this process's claims begin: somewhere no other process's are likely to be.
fn first_claim() -> i64 {
    // The second half of an id is random but for its first two bits.
    let [_, _, _, _, _, _, _, _, random @ ..] = new_id();
    i64::from_be_bytes(random) & (i64::MAX >> 2)
}

/// Removes imports that nobody goes on with. What fails is left for the next start; nobody sees it
/// meanwhile.
fn remove_given_up(connection: &Connection, now: FormInstant) {
    let removed = staged::given_up(connection, now).and_then(|forms| {
        for form in forms {
            while !staged::remove_some(connection, &form)? {}
            tracing::info!(%form, "removed an import that was given up");
        }
        Ok(())
    });
    if let Err(error) = removed {
        tracing::warn!(%error, "imports that were given up could not be removed");
    }
}
