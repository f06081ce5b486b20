//! The capture store: deliveries in an SQLite database of one user, or in memory.
//!
//! A capture is durable when [`CaptureStore::insert`] returns. One thread writes and commits queued writes in one
//! transaction. In a store on disk, each read opens its own connection. Several processes may use one file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, params_from_iter};
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::delivery::{CaptureNumber, Delivery, DeliverySummary};
use crate::filter::DeliveryFilter;
use crate::warning::{Warning, WarningLimiter};

mod connection;
mod error;
pub(crate) mod private;
mod prune;
mod rows;
#[cfg(test)]
mod tests;
mod writer;

pub use error::StoreError;
pub use prune::PruneReport;

use writer::{Command, QUEUE_LEN, WARNINGS, Write, Writer};

/// Largest capture, in bytes. SQLite's own limit is higher.
const MAX_CAPTURE_BYTES: u64 = 512 << 20;
/// Largest store in memory, in bytes.
const MAX_MEMORY_BYTES: u64 = 64 << 20;

/// The limits of a store. The oldest captures are removed first: after the store is opened, at each insert, and while
/// the writer is idle after an insert. A store without inserts may contain expired captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Maximum number of bytes. If captures that are not trusted ([`is_trusted`]) use more than half, only the oldest
    /// untrusted captures are removed. So unknown senders cannot displace the deliveries of the service.
    ///
    /// [`is_trusted`]: crate::verdict::VerdictCode::is_trusted
    pub bytes: u64,
    /// Maximum time since the arrival of a delivery.
    pub age: Duration,
}

/// Selects captures. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct CaptureQuery {
    pub filter: DeliveryFilter,
    /// Selects captures with numbers below this one.
    pub before: Option<CaptureNumber>,
    /// Selects captures with higher numbers.
    pub after: Option<CaptureNumber>,
    /// Maximum number of captures, newest first.
    pub limit: Option<usize>,
}

/// A store of captures. Clones share the same store. Call [`close`](Self::close) at the end, so that queued outcomes
/// are stored.
#[derive(Clone, Debug)]
pub struct CaptureStore {
    commands: mpsc::Sender<Command>,
    /// The database file; `None` if the store is in memory.
    file: Option<PathBuf>,
    limits: StoreLimits,
    warnings: Arc<Mutex<mpsc::Receiver<Warning>>>,
}

impl StoreLimits {
    const UNLIMITED: Self = Self { bytes: u64::MAX, age: Duration::MAX };

    /// Returns the maximum number of bytes of trusted or untrusted captures.
    fn share(self, is_trusted: bool) -> u64 {
        if is_trusted { self.bytes } else { self.bytes / 2 }
    }
}

impl CaptureStore {
    /// Opens the store in a folder. Creates the folder (700) and the database (600) if missing. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`] if the folder or a file is not private, [`StoreError::Foreign`] if the file is not a store
    /// of this version.
    pub fn open(folder: &Path, limits: StoreLimits) -> Result<Self, StoreError> {
        let path = folder.join(connection::FILE_NAME);
        let db = connection::create(&path)?;
        Self::start(db, Some(path), limits)
    }

    /// Opens an existing store without applying limits. Returns `None` if there is no store. Blocks.
    ///
    /// # Errors
    /// The same as for [`open`](Self::open).
    pub fn open_existing(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join(connection::FILE_NAME);
        let Some(db) = connection::open_existing(&path)? else { return Ok(None) };
        Self::start(db, Some(path), StoreLimits::UNLIMITED).map(Some)
    }

    /// Creates a store in memory, of at most 64 MiB. The captures are lost when the last clone is dropped.
    ///
    /// # Errors
    /// Fails if the system cannot provide memory or a thread.
    pub fn in_memory(limits: StoreLimits) -> Result<Self, StoreError> {
        let limits = StoreLimits { bytes: limits.bytes.min(MAX_MEMORY_BYTES), ..limits };
        Self::start(connection::open_in_memory()?, None, limits)
    }

    fn start(
        db: Connection,
        file: Option<PathBuf>,
        limits: StoreLimits,
    ) -> Result<Self, StoreError> {
        let (sender, commands) = mpsc::channel(QUEUE_LEN);
        let needs_prune = limits != StoreLimits::UNLIMITED;
        let (warn, warnings) = mpsc::channel(WARNINGS);
        let (outcomes, pruning) = (WarningLimiter::default(), WarningLimiter::default());
        let writer =
            Writer { db, limits, needs_prune, outcomes, pruning, warnings: warn, commands };
        let thread = std::thread::Builder::new().name("captures".to_owned());
        let path = file.as_deref().unwrap_or(Path::new("memory"));
        thread.spawn(|| writer.run()).map_err(|error| StoreError::io(path, error))?;
        Ok(Self { commands: sender, file, limits, warnings: Arc::new(Mutex::new(warnings)) })
    }

    /// Returns the folder; `None` for a store in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_deref()?.parent()
    }

    /// Returns true if other processes can read the captures.
    pub fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Stores a delivery without its response. The capture is durable when this method returns. Waits while the queue
    /// is full.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] if the capture exceeds 512 MiB or its share. The share is the byte limit for a trusted
    /// delivery, and half of the limit for an untrusted delivery. [`StoreError::Full`] if the disk is full.
    pub async fn insert(&self, delivery: Arc<Delivery>) -> Result<CaptureNumber, StoreError> {
        let is_trusted = delivery.summary.verdict.code.is_trusted();
        let max = self.limits.share(is_trusted).min(MAX_CAPTURE_BYTES);
        let size = rows::size(&delivery);
        if size > max {
            return Err(StoreError::TooLarge { size, max });
        }
        let (reply, result) = oneshot::channel();
        self.send(Command::Write(Write::Insert { delivery, reply })).await?;
        result.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Queues a write of the response and the forwards of a stored delivery. Waits while the queue is full. A second
    /// outcome for the same capture is ignored. If the write fails, the listener of this store reports a warning.
    ///
    /// # Errors
    /// [`StoreError::Closed`] if the store was closed.
    pub async fn set_outcome(
        &self,
        number: CaptureNumber,
        delivery: Arc<Delivery>,
    ) -> Result<(), StoreError> {
        self.send(Command::Write(Write::Outcome { number, delivery })).await
    }

    /// Reads a capture.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if a column has an invalid value.
    pub async fn get(&self, number: CaptureNumber) -> Result<Option<Delivery>, StoreError> {
        self.read(move |db| rows::delivery(db, number)).await
    }

    /// Lists captures, newest first.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if a column has an invalid value. One damaged row fails the whole list; rows are never
    /// skipped.
    pub async fn list(&self, query: CaptureQuery) -> Result<Vec<DeliverySummary>, StoreError> {
        self.read(move |db| select(db, &query)).await
    }

    /// Removes and overwrites all captures, or those received before a time. With `dry_run`, only counts the captures.
    /// Inserts through this store wait until pruning ends; other processes wait at most for one of its
    /// transactions.
    ///
    /// # Errors
    /// [`StoreError::Busy`] if another process writes for more than 5 seconds.
    pub async fn prune(
        &self,
        before: Option<Timestamp>,
        dry_run: bool,
    ) -> Result<PruneReport, StoreError> {
        self.run(move |db| Ok(prune::prune(db, before, dry_run)?)).await
    }

    /// Waits for the next warning about work that no caller waits for: writing outcomes, and removing captures over the
    /// limits. Returns `None` after the store was closed.
    pub(crate) async fn warning(&self) -> Option<Warning> {
        self.warnings.lock().await.recv().await
    }

    /// Waits until all writes that were queued before are committed or have failed.
    pub(crate) async fn flush(&self) {
        // An error means that the store was closed, after these writes.
        let _ = self.run(|_| Ok(())).await;
    }

    /// Closes the store and all its clones after the queued writes. Later writes fail with [`StoreError::Closed`].
    pub async fn close(self) {
        // An error means that the store is already closed.
        let _ = self.commands.send(Command::Close).await;
        self.commands.closed().await;
    }

    async fn send(&self, command: Command) -> Result<(), StoreError> {
        self.commands.send(command).await.map_err(|_| StoreError::Closed)
    }

    /// Runs `work` on the writer thread, after the writes that were queued before.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, result) = oneshot::channel();
        // Sending fails if the caller was dropped, which does not need the result.
        let work = move |db: &mut Connection| drop(reply.send(work(db)));
        self.send(Command::Run(Box::new(work))).await?;
        result.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs a read. A store on disk uses a new connection on a blocking thread; a store in memory uses the writer
    /// thread.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(path) = self.file.clone() else { return self.run(|db| work(db)).await };
        let read = move || work(&connection::open_reader(&path)?);
        tokio::task::spawn_blocking(read).await.unwrap_or(Err(StoreError::Panicked))
    }
}

/// Selects captures, newest first.
fn select(db: &Connection, query: &CaptureQuery) -> Result<Vec<DeliverySummary>, StoreError> {
    let (condition, filter_params, needs_check) = query.filter.to_sql(4);
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut params = vec![
        SqlValue::Integer(query.before.unwrap_or(i64::MAX)),
        SqlValue::Integer(query.after.unwrap_or(0)),
        // If rows must also be checked by `matches`, the statement has no limit and the loop below counts.
        SqlValue::Integer(if needs_check { -1 } else { i64::try_from(limit).unwrap_or(-1) }),
    ];
    params.extend(filter_params);
    let mut select = db.prepare(&format!(
        "SELECT {} FROM {} WHERE c.number < ?1 AND c.number > ?2 AND {condition}
         ORDER BY c.number DESC LIMIT ?3",
        rows::SUMMARY,
        rows::TABLES
    ))?;
    let mut found = Vec::new();
    let mut rows = select.query(params_from_iter(params))?;
    while found.len() < limit
        && let Some(row) = rows.next()?
    {
        let summary = rows::summary(row)?;
        // This query reads the same snapshot because the outer statement is still open.
        let delivery = match summary.number.filter(|_| needs_check) {
            Some(number) => rows::delivery(db, number)?,
            None => None,
        };
        if delivery.is_none_or(|delivery| query.filter.matches(&delivery)) {
            found.push(summary);
        }
    }
    Ok(found)
}
