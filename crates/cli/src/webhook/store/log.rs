//! The write-ahead log, moved into the file by a thread of its own: a delivery that waited for that would
//! wait a hundred times as long as for its own commit.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;

use super::StoreError;
use super::open::{BUSY_PAUSE, BUSY_TIMEOUT};

/// Pages that are worth the wait for the disk that moving them costs.
const WORTH_IT: i64 = 500;
/// Pages at which the log is to start over. It does once all of it is moved, which under a writer that
/// never rests is never so by itself, since more comes meanwhile.
const TOO_MANY: i64 = 2_000;
/// Pages from which the writer moves the log with each commit, whoever else should have.
pub(super) const FAR_TOO_MANY: i64 = 2 * TOO_MANY;

/// The thread that moves the log, held by the one that writes it. Dropping it ends the thread.
#[derive(Debug)]
pub(super) struct LogMover {
    asked: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The log, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Log {
    /// Whether somebody was in the way of what was asked for.
    busy: bool,
    pages: i64,
    /// Of which so many are in the file as well.
    moved: i64,
}

/// What is done about a log after a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    /// The thread moves what there is.
    Move,
    /// The writer moves the little that is left, so that its next commit begins the log anew.
    Finish,
}

impl Log {
    fn step(self) -> Step {
        match self {
            // Much is left as well where somebody reads what stands there, and no writer changes that.
            Self { pages, moved, .. } if pages - moved >= WORTH_IT => Step::Move,
            Self { pages, .. } if pages >= TOO_MANY => Step::Finish,
            Self { .. } => Step::Nothing,
        }
    }
}

impl LogMover {
    /// Starts the thread on a connection of its own, for a writer that moves nothing by itself.
    pub(super) fn start(connection: Connection, path: &Path) -> Result<Self, StoreError> {
        let (asked, intake) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("captures-log".into())
            .spawn(move || serve(&connection, &intake))
            .map_err(|source| StoreError::io("start to write", path, source))?;
        Ok(Self { asked: Some(asked), thread: Some(thread) })
    }

    /// Sees to the log after a commit. What fails here is tried again after the next.
    pub(super) fn committed(&self, writer: &Connection) {
        let seen = checkpoint(writer, "NOOP").map(Log::step).and_then(|step| match step {
            Step::Nothing => Ok(()),
            Step::Move => match self.asked.as_ref().map(|asked| asked.try_send(())) {
                // Asked for already, or now.
                Some(Ok(()) | Err(TrySendError::Full(()))) => Ok(()),
                // The thread has panicked, which was told.
                Some(Err(TrySendError::Disconnected(()))) | None => move_some(writer),
            },
            Step::Finish => move_some(writer),
        });
        if let Err(error) = seen {
            tracing::warn!(%error, "the log of captures grows for now");
        }
    }
}

impl Drop for LogMover {
    fn drop(&mut self) {
        self.asked = None;
        if let Some(thread) = self.thread.take() {
            // Fails only when it panicked, and then there is nothing to wait for.
            let _ = thread.join();
        }
    }
}

fn serve(connection: &Connection, asked: &Receiver<()>) {
    while asked.recv().is_ok() {
        if let Err(error) = move_some(connection) {
            tracing::warn!(%error, "the log of captures is not moved for now");
        }
    }
}

/// Moves what can be moved without a wait for anybody.
pub(super) fn move_some(connection: &Connection) -> rusqlite::Result<()> {
    checkpoint(connection, "PASSIVE").map(drop)
}

/// Moves all of the log, and leaves nothing of it behind, unless somebody reads it for long.
pub(super) fn empty(connection: &Connection) -> rusqlite::Result<()> {
    let began = Instant::now();
    // Whoever moves it is not waited for by itself, as readers are.
    while checkpoint(connection, "TRUNCATE")?.busy && began.elapsed() < BUSY_TIMEOUT {
        std::thread::sleep(BUSY_PAUSE);
    }
    Ok(())
}

/// Sees to the log in one of SQLite's modes; `NOOP` only looks, from release 3.51 on.
fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Log> {
    let mut checkpoint = connection.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    checkpoint
        .query_row([], |row| Ok(Log { busy: row.get(0)?, pages: row.get(1)?, moved: row.get(2)? }))
}

#[cfg(test)]
mod tests {
    use super::super::open;
    use super::*;

    #[test]
    fn the_log_is_moved_once_that_is_worth_it_and_finished_once_it_is_long() {
        let step = |pages, moved| Log { busy: false, pages, moved }.step();
        assert_eq!(step(WORTH_IT - 1, 0), Step::Nothing);
        assert_eq!(step(WORTH_IT, 0), Step::Move);
        assert_eq!(step(TOO_MANY - 1, TOO_MANY - 2), Step::Nothing);
        assert_eq!(step(TOO_MANY, TOO_MANY - WORTH_IT + 1), Step::Finish);
        assert_eq!(step(TOO_MANY, TOO_MANY), Step::Finish);
        // Of what somebody reads much is left.
        assert_eq!(step(2 * TOO_MANY, TOO_MANY), Step::Move);
        // There is no log in memory.
        assert_eq!(step(-1, -1), Step::Nothing);
    }

    #[test]
    fn under_a_writer_that_never_rests_the_log_starts_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = open::path_in(&folder.path().join("store"));
        let writer = open::writer(&path).unwrap();
        let mover = LogMover::start(open::mover(&path).unwrap(), &path).unwrap();
        writer.execute_batch("CREATE TABLE filled (with BLOB) STRICT").unwrap();
        let mut before = 0;
        for _ in 0..10 * TOO_MANY / 50 {
            // Some fifty pages.
            writer.execute("INSERT INTO filled VALUES (randomblob(400000))", []).unwrap();
            let pages = checkpoint(&writer, "NOOP").unwrap().pages;
            if pages < before {
                return;
            }
            before = pages;
            mover.committed(&writer);
        }
        panic!("it has {before} pages");
    }
}
