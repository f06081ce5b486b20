//! The one thread that writes: it takes all that waits, commits it together, and only then answers.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::log::LogMover;
use super::prune::Pruner;
use super::{StoreError, rows};
use crate::webhook::capture::{CaptureNumber, Outcome, Received};

/// Requests that share one commit, at most.
const BATCH_MAX: usize = 256;
/// Requests in one commit after which as many are awaited for the next.
const CROWD: usize = 16;
/// How long that is: no more than so many take to be handled.
const CROWD_PAUSE: Duration = Duration::from_millis(1);
/// How long an outcome waits for a request to share its commit with.
const LINGER: Duration = Duration::from_millis(25);

/// Work on the connection of the thread.
pub(super) type Work = Box<dyn FnOnce(&Connection) + Send>;

/// What becomes of a request that was to be kept.
type Kept = Result<CaptureNumber, StoreError>;

/// Whoever waits for a commit, and may have to tell the others in it.
type Reply = oneshot::Sender<Answers>;

/// Outcomes that wait for a commit.
type Outcomes = Mutex<Vec<(CaptureNumber, Arc<Outcome>)>>;

enum Message {
    Keep(Arc<Received>, Reply),
    /// Outcomes wait: for the first of them.
    Settle,
    Run(Work),
}

/// The end of the thread that callers hold. Dropping it carries out what is queued, and waits for that.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Mutex<Option<Sender<Message>>>,
    /// Beside the queue: a message for each would wake the thread for each.
    outcomes: Arc<Outcomes>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What became of the requests of one commit. One who waited for it is told by the thread, and by dropping
/// this tells the others: to wake a runtime from outside costs as much as the rest of a commit. So nobody
/// holds it for longer than it takes to read.
#[derive(Debug)]
struct Answers {
    own: Kept,
    others: Vec<(Reply, Kept)>,
}

impl Answers {
    /// Tells whoever waited for a commit.
    fn tell(mut answers: Vec<(Reply, Kept)>) {
        while let Some((reply, own)) = answers.pop() {
            let others = std::mem::take(&mut answers);
            match reply.send(Self { own, others }) {
                Ok(()) => return,
                // It has gone, and the next one tells the others.
                Err(mut unheard) => answers = std::mem::take(&mut unheard.others),
            }
        }
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        for (reply, own) in self.others.drain(..) {
            // Who asked may have gone.
            let _ = reply.send(Self { own, others: Vec::new() });
        }
    }
}

impl Writer {
    /// Starts the thread on a connection that writes.
    pub(super) fn start(
        connection: Connection,
        path: &Path,
        log: Option<LogMover>,
        pruner: Pruner,
    ) -> Result<Self, StoreError> {
        let (queue, intake) = channel();
        let outcomes = Arc::<Outcomes>::default();
        let waiting = Arc::clone(&outcomes);
        let desk = Desk {
            log,
            connection,
            path: path.to_owned(),
            pruner,
            outcomes: waiting,
            crowded: false,
        };
        let thread = std::thread::Builder::new()
            .name("captures".into())
            .spawn(move || desk.serve(&intake))
            .map_err(|source| StoreError::io("start to write", path, source))?;
        Ok(Self { queue: Mutex::new(Some(queue)), outcomes, thread: Mutex::new(Some(thread)) })
    }

    /// Adds a request, and waits for the commit.
    pub(super) async fn keep(&self, received: Arc<Received>) -> Kept {
        let (reply, answer) = oneshot::channel();
        self.send(Message::Keep(received, reply))?;
        answer.await.map_or(Err(StoreError::Closed), |answers| answers.own.clone())
    }

    /// Adds what was made of a request, soon.
    pub(super) fn settle(&self, number: CaptureNumber, outcome: Arc<Outcome>) {
        let waiting = {
            let mut outcomes = locked(&self.outcomes);
            outcomes.push((number, outcome));
            outcomes.len()
        };
        if waiting == 1 {
            // After the end there is nobody to tell.
            let _ = self.send(Message::Settle);
        }
    }

    /// Works on the connection, after all that was queued before.
    pub(super) fn run(&self, work: Work) -> Result<(), StoreError> {
        self.send(Message::Run(work))
    }

    /// Carries out what is queued, and ends the thread. Blocks until it has.
    pub(super) fn close(&self) {
        drop(locked(&self.queue).take());
        let thread = locked(&self.thread).take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        let queue = locked(&self.queue);
        let sent = queue.as_ref().map(|queue| queue.send(message));
        if let Some(Ok(())) = sent { Ok(()) } else { Err(StoreError::Closed) }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What shares a commit, beside the outcomes that wait by then.
#[derive(Default)]
struct Batch {
    keeps: Vec<(Arc<Received>, Reply)>,
    /// When the first outcome of it came.
    settling: Option<Instant>,
    work: Option<Work>,
}

impl Batch {
    fn add(&mut self, message: Message) {
        match message {
            Message::Keep(received, reply) => self.keeps.push((received, reply)),
            Message::Settle => drop(self.settling.get_or_insert_with(Instant::now)),
            Message::Run(work) => self.work = Some(work),
        }
    }

    fn is_full(&self) -> bool {
        self.work.is_some() || self.keeps.len() >= BATCH_MAX
    }

    /// Whether it waits for nothing more.
    fn is_due(&self) -> bool {
        !self.keeps.is_empty() || self.is_full()
    }
}

/// What the thread owns.
struct Desk {
    /// Ends before the connection it looks at; none where there is no log.
    log: Option<LogMover>,
    connection: Connection,
    path: PathBuf,
    pruner: Pruner,
    outcomes: Arc<Outcomes>,
    /// Whether the last commit had many requests.
    crowded: bool,
}

impl Desk {
    fn serve(mut self, intake: &Receiver<Message>) {
        let mut open = true;
        while open {
            let mut batch = Batch::default();
            open = self.gather(intake, &mut batch);
            self.commit(batch);
        }
    }

    /// Takes what waits, or waits for something. False when there will be nothing more.
    fn gather(&mut self, intake: &Receiver<Message>, batch: &mut Batch) -> bool {
        let mut waited = false;
        loop {
            let next = match batch.settling {
                _ if batch.is_full() => return true,
                _ if batch.is_due() => intake.try_recv(),
                Some(since) => wait(intake, LINGER.saturating_sub(since.elapsed())),
                // With nothing to do, what is over the caps goes, a little at a time.
                None => wait(intake, self.pruner.step(&self.connection)),
            };
            match next {
                Ok(message) => batch.add(message),
                Err(TryRecvError::Disconnected) => return false,
                // Whoever shares the core may be about to bring more, and one commit is as dear as any.
                Err(TryRecvError::Empty) if !waited && !batch.keeps.is_empty() => {
                    waited = true;
                    if self.crowded {
                        std::thread::sleep(CROWD_PAUSE);
                    } else {
                        std::thread::yield_now();
                    }
                }
                Err(TryRecvError::Empty) if batch.is_due() || batch.settling.is_some() => {
                    return true;
                }
                Err(TryRecvError::Empty) => {}
            }
        }
    }

    /// Commits, and answers.
    fn commit(&mut self, batch: Batch) {
        let Batch { keeps, work, .. } = batch;
        self.crowded = keeps.len() >= CROWD;
        let settles = std::mem::take(&mut *locked(&self.outcomes));
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
            for (number, outcome) in settles {
                rows::settle(db, *number, outcome)?;
            }
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

/// Waits for a message, or until the time is over.
fn wait(intake: &Receiver<Message>, time: Duration) -> Result<Message, TryRecvError> {
    intake.recv_timeout(time).map_err(|error| match error {
        RecvTimeoutError::Timeout => TryRecvError::Empty,
        RecvTimeoutError::Disconnected => TryRecvError::Disconnected,
    })
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    /// Who waits for one commit of three, and it.
    fn waiting() -> (Vec<oneshot::Receiver<Answers>>, Vec<(Reply, Kept)>) {
        let (replies, waiting): (Vec<Reply>, Vec<_>) = (0..3).map(|_| oneshot::channel()).unzip();
        (waiting, replies.into_iter().zip([1, 2, 3].map(Ok)).collect())
    }

    async fn told(waiting: Vec<oneshot::Receiver<Answers>>) -> Vec<CaptureNumber> {
        let number = async |answer: oneshot::Receiver<Answers>| answer.await.unwrap().own.clone();
        join_all(waiting.into_iter().map(number)).await.into_iter().map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn everybody_in_a_commit_is_told_whoever_has_gone() {
        let (all, answers) = waiting();
        Answers::tell(answers);
        assert_eq!(told(all).await, [1, 2, 3]);
        for gone in 0..3 {
            let left: Vec<u64> = (1..4).filter(|number| *number != gone + 1).collect();
            let gone = usize::try_from(gone).unwrap();
            // Before the commit.
            let (mut others, answers) = waiting();
            drop(others.remove(gone));
            Answers::tell(answers);
            assert_eq!(told(others).await, left);
            // After it, having heard nothing.
            let (mut others, answers) = waiting();
            Answers::tell(answers);
            drop(others.remove(gone));
            assert_eq!(told(others).await, left);
        }
    }
}
