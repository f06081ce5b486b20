//! Captures that are kept: in a file of their owner's alone, or in memory.
//!
//! A capture is on the disk when [`Store::keep`] returns: one thread writes, and commits what waits
//! together. Readers have connections of their own. Several processes may use one file at once.

mod answers;
mod args;
mod caps;
mod error;
mod log;
mod open;
pub(crate) mod private;
mod prune;
mod query;
mod queue;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rusqlite::Connection;
use tokio::sync::oneshot;

pub(crate) use args::{StoreArgs, age};
pub(crate) use caps::Caps;
pub(crate) use error::StoreError;
pub(crate) use prune::Pruned;
#[cfg(test)]
pub(crate) use query::ListedOutcome;
pub(crate) use query::{INVALID, Listed, Query};

use self::log::LogMover;
use self::prune::Pruner;
use self::rows::RowError;
use self::writer::Writer;
use super::capture::{Capture, CaptureNumber, Outcome, Received};
use crate::paths::Paths;

/// The folder of the store, in that of states.
const FOLDER: &str = "webhook";
/// Largest request that is kept: what SQLite takes, with room for the rest of its row.
const REQUEST_MAX: usize = 512 << 20;
/// Idle connections that are kept for the next read.
const IDLE_MAX: usize = 4;

/// The folder of the store.
pub(crate) fn folder(paths: &Paths) -> Result<PathBuf, StoreError> {
    paths.state.as_deref().map(|state| state.join(FOLDER)).ok_or(StoreError::NoFolder)
}

/// The store, open to be read and written. Clones share it; the last one that is dropped carries out
/// what is queued.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    writer: Arc<Writer>,
    captures: Captures,
}

/// The captures of a store, to be read. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Captures(Arc<Reads>);

#[derive(Debug)]
enum Reads {
    /// Idle connections to a file.
    File { path: PathBuf, idle: Mutex<Vec<Connection>> },
    /// On the writer's thread, a little at a time: a store in memory is one connection.
    Memory(Arc<Writer>),
}

impl Store {
    /// Opens the store in a folder, and makes both if they are not there. Blocks.
    pub(crate) fn open(folder: &Path, caps: Caps) -> Result<Self, StoreError> {
        let path = open::path_in(folder);
        let db = open::writer(&path)?;
        let log = LogMover::start(open::mover(&path)?, &path)?;
        let writer = Writer::start(db, &path, Some(log), Pruner::new(caps, Timestamp::now))?;
        let captures = Captures::of(path);
        Ok(Self { writer: Arc::new(writer), captures })
    }

    /// A store in memory, gone with the process. Its caps are smaller.
    pub(crate) fn in_memory(caps: Caps) -> Result<Self, StoreError> {
        let pruner = Pruner::new(caps.in_memory(), Timestamp::now);
        let writer = Writer::start(open::memory()?, Path::new(open::MEMORY), None, pruner)?;
        let writer = Arc::new(writer);
        let captures = Captures(Arc::new(Reads::Memory(Arc::clone(&writer))));
        Ok(Self { writer, captures })
    }

    /// Whether other processes find what is kept here, by its number.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.captures.is_on_disk()
    }

    /// The folder that it is in; none where it is in memory.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &*self.captures.0 {
            Reads::File { path, .. } => path.parent(),
            Reads::Memory(_) => None,
        }
    }

    /// Keeps a request. When this returns its number, it is on the disk.
    pub(crate) async fn keep(&self, received: Arc<Received>) -> Result<CaptureNumber, StoreError> {
        let size = received.body.len() + received.request_target.len();
        if size > REQUEST_MAX {
            return Err(StoreError::TooLarge(size));
        }
        self.writer.keep(received).await
    }

    /// Keeps what was made of a request: soon, and without a wait.
    pub(crate) fn settle(&self, number: CaptureNumber, outcome: Arc<Outcome>) {
        self.writer.settle(number, outcome);
    }

    /// The captures, to be read by whoever keeps none.
    pub(crate) fn captures(&self) -> &Captures {
        &self.captures
    }

    /// One capture.
    pub(crate) async fn get(&self, number: CaptureNumber) -> Result<Option<Capture>, StoreError> {
        self.captures.get(number).await
    }

    /// What is asked for, newest first.
    pub(crate) async fn list(&self, query: Query) -> Result<Vec<Listed>, StoreError> {
        self.captures.list(query).await
    }

    /// Removes what came before a time, or everything, and gives its room back; or only counts it.
    pub(crate) async fn prune(
        &self,
        before: Option<Timestamp>,
        dry_run: bool,
    ) -> Result<Pruned, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.writer.run(Box::new(move |db| drop(reply.send(prune::prune(db, before, dry_run)))))?;
        let pruned = answer.await.map_err(|_| StoreError::Closed)?;
        pruned.map_err(|error| StoreError::database("remove", self.captures.path(), error))
    }

    /// Carries out what is queued; nothing can be kept after that, by no clone.
    pub(crate) async fn close(self) {
        // Whoever closes the file last moves its log into it, which no reader may.
        self.captures.0.close_idle();
        let writer = Arc::clone(&self.writer);
        // Fails only when it panicked, and then there is nothing left to carry out.
        let _ = tokio::task::spawn_blocking(move || writer.close()).await;
    }
}

impl Captures {
    /// The captures in a folder; none if nothing was ever kept there. Nothing is made. Blocks.
    pub(crate) fn open(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = open::path_in(folder);
        let Some(db) = open::reader(&path)? else { return Ok(None) };
        let captures = Self::of(path);
        captures.0.take_back(db);
        Ok(Some(captures))
    }

    /// Whether other processes find what is kept here, by its number.
    pub(crate) fn is_on_disk(&self) -> bool {
        matches!(&*self.0, Reads::File { .. })
    }

    fn path(&self) -> &Path {
        match &*self.0 {
            Reads::File { path, .. } => path,
            Reads::Memory(_) => Path::new(open::MEMORY),
        }
    }

    fn of(path: PathBuf) -> Self {
        Self(Arc::new(Reads::File { path, idle: Mutex::default() }))
    }

    /// One capture.
    pub(crate) async fn get(&self, number: CaptureNumber) -> Result<Option<Capture>, StoreError> {
        let Ok(number) = i64::try_from(number) else { return Ok(None) };
        self.read(move |db| rows::capture(db, number)).await
    }

    /// What is asked for, newest first.
    pub(crate) async fn list(&self, query: Query) -> Result<Vec<Listed>, StoreError> {
        match &*self.0 {
            Reads::File { .. } => self.read(move |db| query::list(db, &query)).await,
            Reads::Memory(_) => self.list_in_pieces(query).await,
        }
    }

    /// The same in pieces, between which the thread keeps what comes: no delivery waits for a search.
    async fn list_in_pieces(&self, mut query: Query) -> Result<Vec<Listed>, StoreError> {
        let mut listed = Vec::new();
        loop {
            let asked = query.clone();
            let (some, reached) = self.read(move |db| query::piece(db, asked)).await?;
            query.limit = query.limit.map(|limit| limit.saturating_sub(some.len()));
            listed.extend(some);
            match reached {
                Some(number) if query.limit != Some(0) => query.before = Some(number),
                _ => return Ok(listed),
            }
        }
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, RowError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let read = match &*self.0 {
            Reads::Memory(writer) => {
                let (reply, answer) = oneshot::channel();
                writer.run(Box::new(move |db| drop(reply.send(work(db)))))?;
                return answer
                    .await
                    .map_err(|_| StoreError::Closed)?
                    .map_err(|error| error.told(Path::new(open::MEMORY)));
            }
            Reads::File { .. } => {
                let reads = Arc::clone(&self.0);
                tokio::task::spawn_blocking(move || reads.read(work)).await
            }
        };
        read.unwrap_or(Err(StoreError::Closed))
    }
}

impl Reads {
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, RowError>,
    ) -> Result<T, StoreError> {
        let Self::File { path, idle } = self else { return Err(StoreError::Closed) };
        let lent = idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let db = match lent {
            Some(db) => db,
            None => open::reader(path)?.ok_or(StoreError::Closed)?,
        };
        let done = work(&db).map_err(|error| error.told(path));
        self.take_back(db);
        done
    }

    fn close_idle(&self) {
        let Self::File { idle, .. } = self else { return };
        let idle = std::mem::take(&mut *idle.lock().unwrap_or_else(PoisonError::into_inner));
        drop(idle);
    }

    fn take_back(&self, db: Connection) {
        let Self::File { idle, .. } = self else { return };
        let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(db);
        }
    }
}

impl RowError {
    fn told(self, path: &Path) -> StoreError {
        match self {
            Self::Database(error) => StoreError::database("read", path, error),
            Self::Malformed(error) => error,
        }
    }
}
