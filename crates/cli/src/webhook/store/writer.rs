//! The one thread that writes: it takes all that waits, commits it together, and only then answers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::answers::{Answers, Kept, Reply};
use super::log::LogMover;
use super::prune::Pruner;
use super::queue::{Batch, ENOUGH, Next, Queue, Work};
use super::{StoreError, rows};
use crate::webhook::capture::{CaptureNumber, Outcome, Received};

/// How long the end may take that nobody waits for but the command. Tests look at what it leaves, however
/// slow the disk is.
const TIDY_MAX: Duration = Duration::from_millis(if cfg!(test) { 60_000 } else { 500 });

/// The end of the thread that callers hold. Dropping it carries out what is queued, and waits for that.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread on a connection that writes.
    pub(super) fn start(
        connection: Connection,
        path: &Path,
        log: Option<LogMover>,
        pruner: Pruner,
    ) -> Result<Self, StoreError> {
        let queue = Arc::<Queue>::default();
        let desk = Desk { log, connection, path: path.to_owned(), pruner };
        let intake = Intake(Arc::clone(&queue));
        let thread = std::thread::Builder::new()
            .name("captures".into())
            .spawn(move || desk.serve(&intake.0))
            .map_err(|source| StoreError::io("start to write", path, source))?;
        Ok(Self { queue, thread: Mutex::new(Some(thread)) })
    }

    /// Adds a request, and waits for the commit.
    pub(super) async fn keep(&self, received: Arc<Received>) -> Kept {
        let (reply, answer) = oneshot::channel();
        if let Some(group) = self.queue.keep(received, reply)? {
            // Also when whoever waits here goes away.
            let begins = Begins(&self.queue);
            // Others that are ready go first, and share the commit. With enough of them, those that are not
            // ready yet are handled while the disk writes.
            let (mut before, mut now) = (0, 1);
            while before < now && now < ENOUGH {
                tokio::task::yield_now().await;
                (before, now) = (now, self.queue.waiting(group));
            }
            drop(begins);
        }
        answer.await.map_or(Err(StoreError::Closed), |answers| answers.own.clone())
    }

    /// Adds what was made of a request, soon.
    pub(super) fn settle(&self, number: CaptureNumber, outcome: Arc<Outcome>) {
        // After the end there is nobody to tell.
        let _ = self.queue.settle(number, outcome);
    }

    /// Works on the connection, after all that was queued before.
    pub(super) fn run(&self, work: Work) -> Result<(), StoreError> {
        self.queue.run(work)
    }

    /// Carries out what is queued, and ends the thread. Blocks until it has.
    pub(super) fn close(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Lets the thread begin when it is dropped.
struct Begins<'q>(&'q Queue);

impl Drop for Begins<'_> {
    fn drop(&mut self) {
        self.0.begin();
    }
}

/// The thread's end of the queue: however the thread ends, nobody waits for it after that.
struct Intake(Arc<Queue>);

impl Drop for Intake {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// What the thread owns.
struct Desk {
    /// Ends before the connection it looks at; none where there is no log.
    log: Option<LogMover>,
    connection: Connection,
    path: PathBuf,
    pruner: Pruner,
}

impl Desk {
    fn serve(mut self, queue: &Queue) {
        // What an earlier listener left is looked at before anything comes.
        self.pruner.step(&self.connection);
        loop {
            // With nothing to do, what is over the caps goes, a little at a time.
            match queue.next(|| self.pruner.step(&self.connection)) {
                Next::Batch(batch) => self.commit(batch),
                Next::Nothing => {}
                Next::Closed => return self.tidy(),
            }
        }
    }

    /// Leaves the file as small as the caps want it, if that takes no longer than somebody waits for the end.
    fn tidy(&mut self) {
        let began = Instant::now();
        while self.pruner.step(&self.connection).is_zero() && began.elapsed() < TIDY_MAX {}
    }

    /// Commits, and answers.
    fn commit(&mut self, batch: Batch) {
        let Batch { keeps, settles, work } = batch;
        if !(keeps.is_empty() && settles.is_empty()) {
            let kept = self.transact(&keeps, &settles);
            let kept = kept.map_err(|error| StoreError::database("keep", &self.path, error));
            if let Err(error) = &kept {
                tracing::warn!(%error, keeps = keeps.len(), settles = settles.len(), "nothing was kept");
                // It may be the requests that there is no room for.
                if !(keeps.is_empty() || settles.is_empty()) {
                    let settled = self.transact(&[], &settles);
                    drop(settled.inspect_err(|error| tracing::warn!(%error, "nor how they ended")));
                }
            }
            let answers = keeps.into_iter().enumerate().map(|(at, (_, reply))| {
                (reply, kept.as_ref().map(|numbers| numbers[at]).map_err(Clone::clone))
            });
            Answers::tell(answers.collect());
            if let Some(log) = &self.log {
                log.committed(&self.connection);
            }
        }
        if let Some(work) = work {
            work(&self.connection);
        }
    }

    /// Runs a batch in one transaction. On an error nothing of it remains.
    fn transact(
        &mut self,
        keeps: &[(Arc<Received>, Reply)],
        settles: &[(CaptureNumber, Arc<Outcome>)],
    ) -> rusqlite::Result<Vec<CaptureNumber>> {
        let db = &self.connection;
        let run = |sql| db.prepare_cached(sql)?.execute([]).map(drop);
        run("BEGIN IMMEDIATE")?;
        let done = (|| {
            let numbers = rows::insert(db, keeps.iter().map(|(received, _)| &**received))?;
            rows::settle(db, settles.iter().map(|(number, outcome)| (*number, &**outcome)))?;
            self.pruner.make_room(db, keeps.len())?;
            run("COMMIT")?;
            Ok(numbers)
        })();
        if done.is_err() && !db.is_autocommit() {
            // Fails only when the transaction is gone already.
            let _ = db.execute_batch("ROLLBACK");
        }
        if done.is_err() {
            self.pruner.rolled_back();
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::super::caps::Caps;
    use super::super::open;
    use super::super::tests::received;
    use super::*;

    #[tokio::test]
    async fn a_request_is_begun_with_though_whoever_brought_it_has_gone() {
        let writer = Writer { queue: Arc::default(), thread: Mutex::new(None) };
        let received = Arc::new(received(jiff::Timestamp::now(), Vec::new()));
        assert!(writer.keep(received).now_or_never().is_none());
        assert_eq!((writer.queue.waiting(0), writer.queue.is_due()), (1, true));
    }

    #[tokio::test]
    async fn nobody_waits_for_a_thread_that_has_panicked() {
        let pruner = Pruner::new(Caps::default(), jiff::Timestamp::now);
        let path = Path::new(open::MEMORY);
        let writer = Writer::start(open::memory().unwrap(), path, None, pruner).unwrap();
        writer.run(Box::new(|_| panic!("on purpose"))).unwrap();
        let kept =
            async || writer.keep(Arc::new(received(jiff::Timestamp::now(), Vec::new()))).await;
        // What shares a commit with what goes wrong is kept.
        while let Ok(number) = kept().await {
            assert!(number < 100, "it goes on");
        }
        assert!(matches!(kept().await, Err(StoreError::Closed)));
    }
}
