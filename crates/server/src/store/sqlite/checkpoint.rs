//! Moves the write-ahead log into the database file, away from the thread that writes.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::turns::Turns;

/// When the log is worth a checkpoint, in pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    /// Not moved yet: worth the fsync that a checkpoint costs.
    pub(super) worth_it: i64,
    /// In all: the writer gives up a turn, so that the log can start over. Under writers that never
    /// pause it would grow without end, because a passive checkpoint never gets to its end.
    pub(super) too_many: i64,
}

const THRESHOLDS: Thresholds = Thresholds { worth_it: 1_000, too_many: 8_000 };
/// Pause between two looks at the log.
const PAUSE: Duration = Duration::from_millis(25);
/// How long a blocking checkpoint waits for readers and other processes.
const PATIENCE: Duration = Duration::from_millis(250);

/// The thread that checkpoints.
#[derive(Debug)]
pub(super) struct Checkpointer {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What other threads tell it.
#[derive(Debug, Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    committed: bool,
    stop: bool,
}

impl Signal {
    /// Something was committed.
    pub(super) fn committed(&self) {
        self.set(|state| !std::mem::replace(&mut state.committed, true));
    }

    fn set(&self, change: impl FnOnce(&mut State) -> bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if change(&mut state) {
            self.changed.notify_one();
        }
    }

    /// Waits for a commit; `false` when it is time to stop.
    fn wait(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = |state: &mut State| !state.committed && !state.stop;
        let mut state =
            self.changed.wait_while(state, idle).unwrap_or_else(PoisonError::into_inner);
        state.committed = false;
        !state.stop
    }

    fn pause(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.changed.wait_timeout_while(state, PAUSE, |state| !state.stop);
    }
}

impl Checkpointer {
    /// Starts the thread on a connection of its own.
    pub(super) fn start(
        connection: Connection,
        turns: Arc<Turns>,
        keep: Box<dyn Send>,
    ) -> Result<Self, super::OpenError> {
        connection.busy_timeout(PATIENCE)?;
        let signal = Arc::new(Signal::default());
        let seen = Arc::clone(&signal);
        let thread = std::thread::Builder::new().name("store-checkpoint".into()).spawn(move || {
            let mut stuck = None;
            while seen.wait() {
                if let Err(error) = look(&connection, THRESHOLDS, &mut stuck, || turns.write()) {
                    tracing::warn!(%error, "checkpoint failed; the log is kept and tried again");
                }
                seen.pause();
            }
            if let Err(error) = checkpoint(&connection, "TRUNCATE") {
                tracing::warn!(%error, "last checkpoint failed; the log is read at the next start");
            }
            drop(connection);
            drop(keep);
        })?;
        Ok(Self { signal, thread: Mutex::new(Some(thread)) })
    }

    /// Where commits are reported.
    pub(super) fn signal(&self) -> Arc<Signal> {
        Arc::clone(&self.signal)
    }

    /// Empties the log and ends the thread. Blocks until it has.
    pub(super) fn close(&self) {
        self.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn stop(&self) {
        self.signal.set(|state| {
            state.stop = true;
            true
        });
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Looks at the log once, and checkpoints when it is time. A reader that stays for long, such as a
/// backup, is what `stuck` is for: where it stands in the log. Writers wait for it once, and not again
/// before it has gone on.
pub(super) fn look<Turn>(
    connection: &Connection,
    thresholds: Thresholds,
    stuck: &mut Option<i64>,
    take_writers_turn: impl FnOnce() -> Turn,
) -> rusqlite::Result<()> {
    let log = checkpoint(connection, "NOOP")?;
    if log.frames - log.moved < thresholds.worth_it && log.frames < thresholds.too_many {
        return Ok(());
    }
    let log = checkpoint(connection, "PASSIVE")?;
    if log.frames >= thresholds.too_many && *stuck != Some(log.moved) {
        // Only what came since the passive checkpoint is left to move: a few milliseconds, in which
        // writes queue but none fails.
        let _turn = take_writers_turn();
        let log = checkpoint(connection, "RESTART")?;
        *stuck = log.busy.then_some(log.moved);
    }
    Ok(())
}

/// The write-ahead log, in pages.
struct Log {
    /// Somebody was in the way of what was asked for.
    busy: bool,
    frames: i64,
    moved: i64,
}

fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<Log> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |row| {
        Ok(Log { busy: row.get(0)?, frames: row.get(1)?, moved: row.get(2)? })
    })
}
