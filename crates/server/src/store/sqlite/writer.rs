//! The one thread that writes: it takes all writes that wait, commits them together, and only then
//! answers each.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::answers::{Batch, heard, tell_all};
use super::fault::{Lost, NotCommitted, closed};
use super::job::{Job, job};
use super::submit::{self, Submit};
use super::turns::Turns;
use crate::fault_point::fault_point;
use crate::store::{Accepted, Clock, Commit, EndpointNo, NewSubmission, StoreError};

/// Writes that share one commit, at most.
pub(super) const BATCH_MAX: usize = 64;
/// Writes that may wait; a caller beyond them waits to be queued.
const QUEUE_MAX: usize = 1_024;

/// Counts of what the writer did.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) commits: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) failed_commits: AtomicU64,
}

/// The writer's end that callers hold.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
    batch_max: Arc<AtomicUsize>,
    pub(super) counters: Arc<Counters>,
}

enum Message {
    Write(Box<dyn Job>),
    Submit(Box<Submit>),
    Close,
}

/// What takes note of endpoints.
pub(super) type Note = Box<dyn Fn(&[EndpointNo]) + Send>;

/// What the thread owns.
pub(super) struct Desk {
    pub(super) connection: Connection,
    pub(super) turns: Arc<Turns>,
    /// When submissions are made.
    pub(super) clock: Clock,
    /// Called with endpoints that get deliveries, before the commit.
    pub(super) delivered_to: Note,
    /// Called after each commit.
    pub(super) committed: Box<dyn Fn(Commit) + Send>,
    /// Dropped when the thread ends: what must outlive the last write.
    pub(super) keep: Box<dyn Send>,
}

impl Writer {
    /// Starts the thread.
    pub(super) fn start(desk: Desk) -> std::io::Result<Self> {
        let (queue, intake) = mpsc::channel(QUEUE_MAX);
        let counters = Arc::new(Counters::default());
        let batch_max = Arc::new(AtomicUsize::new(BATCH_MAX));
        let (seen, batch) = (Arc::clone(&counters), Arc::clone(&batch_max));
        let thread = std::thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || serve(desk, intake, &batch, &seen))?;
        Ok(Self { queue, thread: Mutex::new(Some(thread)), batch_max, counters })
    }

    /// Lets at most so many writes share a commit from now on, and at least one.
    pub(super) fn set_batch_max(&self, writes: usize) {
        self.batch_max.store(writes.clamp(1, BATCH_MAX), Ordering::Relaxed);
    }

    /// Queues a write and waits for its commit. Once queued it is carried out even when the future
    /// is dropped.
    pub(super) async fn run<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let message = Message::Write(job(work, reply));
        self.queue.send(message).await.map_err(|_| closed())?;
        heard(answer).await
    }

    /// Queues a submission and waits for its commit, like [`run`](Self::run).
    pub(super) async fn submit(&self, new: NewSubmission) -> Result<Accepted, StoreError> {
        let (reply, answer) = oneshot::channel();
        let message = Message::Submit(Box::new(Submit::new(new, reply)));
        self.queue.send(message).await.map_err(|_| closed())?;
        heard(answer).await
    }

    /// Carries out what is queued, then ends the thread. Blocks until it has.
    pub(super) fn close(&self) {
        // A full queue empties by itself; a closed one has its end already.
        let _ = self.queue.blocking_send(Message::Close);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

fn serve(
    desk: Desk,
    mut intake: mpsc::Receiver<Message>,
    batch_max: &AtomicUsize,
    counters: &Counters,
) {
    let mut messages = Vec::with_capacity(BATCH_MAX);
    let mut batch = Batch::default();
    while intake.blocking_recv_many(&mut messages, batch_max.load(Ordering::Relaxed)) > 0 {
        for message in messages.drain(..) {
            match message {
                Message::Write(job) => batch.jobs.push(job),
                Message::Submit(submit) => batch.submits.push(*submit),
                // Takes no more, and hands out what is queued until it is empty.
                Message::Close => intake.close(),
            }
        }
        if batch.len() > 0 {
            commit_together(&desk, &mut batch, || intake.len(), counters);
        }
    }
    let Desk { connection, keep, .. } = desk;
    drop(connection);
    drop(keep);
}

fn commit_together(
    desk: &Desk,
    batch: &mut Batch,
    waiting: impl Fn() -> usize,
    counters: &Counters,
) {
    let writes = batch.len();
    let began = Instant::now();
    let tell = |succeeded| {
        let [writes, waiting] =
            [writes, waiting()].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        (desk.committed)(Commit { succeeded, writes, waiting, took: began.elapsed() });
    };
    let outcome = {
        let _turn = desk.turns.write();
        transact(desk, batch)
    };
    let outcome = match outcome {
        Ok(()) => {
            fault_point!(AfterCommit);
            counters.commits.fetch_add(1, Ordering::Relaxed);
            counters.writes.fetch_add(writes as u64, Ordering::Relaxed);
            tell(true);
            Ok(())
        }
        Err(error) => {
            counters.failed_commits.fetch_add(1, Ordering::Relaxed);
            tracing::error!(%error, writes, "commit failed; its writes are refused");
            tell(false);
            Err(NotCommitted::new(error))
        }
    };
    tell_all(batch, outcome);
}

/// Runs a batch in one transaction. On an error nothing of it remains.
fn transact(desk: &Desk, batch: &mut Batch) -> Result<(), Lost> {
    let done = run_all(desk, batch);
    if done.is_err() && !desk.connection.is_autocommit() {
        // Fails only when the transaction is gone already.
        let _ = desk.connection.execute_batch("ROLLBACK");
    }
    done
}

fn run_all(desk: &Desk, batch: &mut Batch) -> Result<(), Lost> {
    let connection = &desk.connection;
    let run = |sql| connection.prepare_cached(sql)?.execute([]).map(drop);
    run("BEGIN IMMEDIATE")?;
    if !batch.submits.is_empty() {
        let endpoints = submit::together(connection, &desk.clock, &mut batch.submits)?;
        (desk.delivered_to)(&endpoints);
    }
    for job in &mut batch.jobs {
        run("SAVEPOINT job")?;
        if let Err(refusal) = job.run(connection) {
            if connection.is_autocommit() {
                return Err(Lost::Undone(refusal));
            }
            run("ROLLBACK TO job")?;
        }
        run("RELEASE job")?;
    }
    fault_point!(BeforeCommit);
    Ok(run("COMMIT")?)
}
