//! The capture store: deliveries in an SQLite database of one user, or in memory.
//!
//! A capture is durable when [`CaptureStore::insert`] returns. One thread writes and commits waiting writes
//! together; each read of a file has a connection of its own. Several processes may use one file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, params_from_iter};
use tokio::sync::{mpsc, oneshot};

use crate::delivery::{CaptureNumber, Delivery, DeliverySummary};
use crate::filter::DeliveryFilter;

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

use writer::{Command, QUEUE_LEN, Write, Writer};

/// Largest capture, in bytes. SQLite's own limit is higher.
const CAPTURE_BYTES_MAX: u64 = 512 << 20;
/// Largest store in memory, in bytes.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

/// The limits of a store. The oldest captures are removed first. They are removed when the store is opened
/// and at each insert, so an idle store may have expired captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// Bytes of the captures. Untrusted captures ([`is_trusted`]) may use half of it; beyond that, only their
    /// own oldest are removed. So unknown senders cannot flush the deliveries of the service.
    ///
    /// [`is_trusted`]: crate::verdict::VerdictCode::is_trusted
    pub bytes: u64,
    /// Time since the arrival of a delivery.
    pub age: Duration,
}

/// Selects captures. The default selects all.
#[derive(Clone, Debug, Default)]
pub struct CaptureQuery {
    pub filter: DeliveryFilter,
    /// Selects lower numbers.
    pub before: Option<CaptureNumber>,
    /// Selects higher numbers.
    pub after: Option<CaptureNumber>,
    /// The newest that many.
    pub limit: Option<usize>,
}

/// A store of captures. Clones share it. Call [`close`](Self::close) at the end, so that outcomes in the queue
/// are stored.
#[derive(Clone, Debug)]
pub struct CaptureStore {
    commands: mpsc::Sender<Command>,
    /// None if it is in memory.
    file: Option<PathBuf>,
    limits: StoreLimits,
}

impl StoreLimits {
    const UNLIMITED: Self = Self { bytes: u64::MAX, age: Duration::MAX };

    /// Returns the bytes that trusted or untrusted captures may use.
    fn bytes_of(self, is_trusted: bool) -> u64 {
        if is_trusted { self.bytes } else { self.bytes / 2 }
    }
}

impl CaptureStore {
    /// Opens the store in a folder. Creates both if they do not exist, for this user alone. Blocks.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`] if other users have access to the folder or file, [`StoreError::Foreign`] if it
    /// is not a store of this version.
    pub fn open(folder: &Path, limits: StoreLimits) -> Result<Self, StoreError> {
        let path = folder.join(connection::FILE_NAME);
        let db = connection::create(&path)?;
        Self::start(db, Some(path), limits)
    }

    /// Opens the store in a folder without limits. Returns `None` if there is none. Blocks.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn open_existing(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join(connection::FILE_NAME);
        let Some(db) = connection::open_existing(&path)? else { return Ok(None) };
        Self::start(db, Some(path), StoreLimits::UNLIMITED).map(Some)
    }

    /// Opens a store in memory, of at most 64 MiB. It ends with its last clone.
    ///
    /// # Errors
    /// Fails if there is no memory or no thread for it.
    pub fn in_memory(limits: StoreLimits) -> Result<Self, StoreError> {
        let limits = StoreLimits { bytes: limits.bytes.min(MEMORY_BYTES_MAX), ..limits };
        Self::start(connection::open_in_memory()?, None, limits)
    }

    fn start(
        db: Connection,
        file: Option<PathBuf>,
        limits: StoreLimits,
    ) -> Result<Self, StoreError> {
        let (sender, commands) = mpsc::channel(QUEUE_LEN);
        let needs_prune = limits != StoreLimits::UNLIMITED;
        let writer = Writer { db, limits, needs_prune, commands };
        let thread = std::thread::Builder::new().name("captures".to_owned());
        let path = file.as_deref().unwrap_or(Path::new("memory"));
        thread.spawn(|| writer.run()).map_err(|error| StoreError::io(path, error))?;
        Ok(Self { commands: sender, file, limits })
    }

    /// Returns the folder; `None` for a store in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.file.as_deref()?.parent()
    }

    /// Returns true if other processes can read the captures.
    pub fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Stores a delivery without its response. It is durable when this returns. Waits while the queue is full.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] if it exceeds 512 MiB, the limit of the store, or half of that limit if it is
    /// untrusted; [`StoreError::Full`] if the disk is full.
    pub async fn insert(&self, delivery: Arc<Delivery>) -> Result<CaptureNumber, StoreError> {
        let is_trusted = delivery.summary.verdict.code.is_trusted();
        let max = self.limits.bytes_of(is_trusted).min(CAPTURE_BYTES_MAX);
        let size = rows::size(&delivery);
        if size > max {
            return Err(StoreError::TooLarge { size, max });
        }
        let (reply, result) = oneshot::channel();
        self.send(Command::Write(Write { delivery, reply: Some(reply) })).await?;
        result.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Stores the response and the forwards of a stored delivery, soon after this returns. Waits while the
    /// queue is full. The first outcome of a capture counts. A failure is logged.
    ///
    /// # Errors
    /// [`StoreError::Closed`].
    pub async fn set_outcome(&self, delivery: Arc<Delivery>) -> Result<(), StoreError> {
        self.send(Command::Write(Write { delivery, reply: None })).await
    }

    /// Reads a capture.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if a column is not valid.
    pub async fn get(&self, number: CaptureNumber) -> Result<Option<Delivery>, StoreError> {
        self.read(move |db| rows::delivery(db, number)).await
    }

    /// Lists captures, newest first.
    ///
    /// # Errors
    /// [`StoreError::DamagedRow`] if a column of a capture is not valid: a list omits nothing.
    pub async fn list(&self, query: CaptureQuery) -> Result<Vec<DeliverySummary>, StoreError> {
        self.read(move |db| select(db, &query)).await
    }

    /// Removes all captures, or those received before a time, and overwrites them. With `dry_run` it only
    /// counts them. Inserts into this store wait for it, those of other processes do not.
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

    /// Ends the store after all writes in the queue. Later writes of all clones fail with
    /// [`StoreError::Closed`].
    pub async fn close(self) {
        // Fails if it is closed already.
        let _ = self.commands.send(Command::Close).await;
        self.commands.closed().await;
    }

    async fn send(&self, command: Command) -> Result<(), StoreError> {
        self.commands.send(command).await.map_err(|_| StoreError::Closed)
    }

    /// Runs work on the thread that writes, after the writes before it.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, result) = oneshot::channel();
        // A caller that has gone does not need the result.
        let work = move |db: &mut Connection| drop(reply.send(work(db)));
        self.send(Command::Run(Box::new(work))).await?;
        result.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Runs a read: of a file on a blocking thread with a connection of its own, else on the thread that
    /// writes.
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let Some(path) = self.file.clone() else { return self.run(|db| work(db)).await };
        let read = move || work(&connection::open_reader(&path)?);
        tokio::task::spawn_blocking(read).await.unwrap_or(Err(StoreError::Closed))
    }
}

/// Selects captures, newest first.
fn select(db: &Connection, query: &CaptureQuery) -> Result<Vec<DeliverySummary>, StoreError> {
    let (condition, filter_params, needs_check) = query.filter.to_sql(4);
    let limit = query.limit.unwrap_or(usize::MAX);
    let mut params = vec![
        SqlValue::Integer(query.before.unwrap_or(i64::MAX)),
        SqlValue::Integer(query.after.unwrap_or(0)),
        // The statement has no limit if some of its rows may not match.
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
        // The same snapshot, because the statement is still active.
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
