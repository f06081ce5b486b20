//! Submissions that wait at the same time share a transaction, and are answered after its commit.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use formsvc_protocol::FormId;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::accept::{self, Failed, Outcome};
use super::fault::{closed, is_conflict, is_of_the_data};
use super::lent::Lent;
use super::time::Time;
use crate::causes::on_one_line;
use crate::store::{Accepted, Commit, EndpointNo, NewSubmission, StoreError};
use crate::supervise::supervise;

/// Submissions that share one commit, at most.
const BATCH_MAX: usize = 128;
/// Submissions that may wait; a caller beyond them waits to be queued.
const QUEUE_MAX: usize = 1_024;
/// Batches under way at a time, each of forms of its own: submissions of one form take their instants in
/// turn, so that two batches of it would only wait for each other, each half as large.
const AT_A_TIME: usize = 2;
/// Times that a transaction is begun when others stand in its way.
const TRIES: usize = 5;

type Answer = Result<Accepted, StoreError>;

/// A submission that waits.
struct Waiting {
    new: NewSubmission,
    reply: oneshot::Sender<Answer>,
}

/// What is told of each transaction.
pub(super) type Told = Arc<dyn Fn(Commit, &[EndpointNo]) + Send + Sync>;

/// Where submissions are handed in.
pub(super) struct Submitter {
    /// A form's submissions are all in one of these.
    queues: [mpsc::Sender<Waiting>; AT_A_TIME],
    working: Mutex<Vec<tokio::task::JoinHandle<()>>>,
    closing: tokio::sync::watch::Sender<bool>,
}

/// What submissions are accepted with.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) pool: Pool,
    pub(super) time: Time,
    pub(super) told: Told,
    /// How long the database is waited for in each round trip.
    pub(super) within: Duration,
}

impl Submitter {
    /// Begins to take submissions. Must be called within a tokio runtime.
    pub(super) fn start(desk: &Desk) -> Self {
        let (closing, _) = tokio::sync::watch::channel(false);
        let mut working = Vec::with_capacity(AT_A_TIME);
        let queues = std::array::from_fn(|_| {
            let (queue, waiting) = mpsc::channel(QUEUE_MAX);
            let (desk, waiting) = (desk.clone(), Arc::new(Mutex::new(waiting)));
            let stop = closing.subscribe();
            working.push(tokio::spawn(supervise("submissions", move || {
                work(desk.clone(), Arc::clone(&waiting), stop.clone())
            })));
            queue
        });
        Self { queues, working: Mutex::new(working), closing }
    }

    /// Queues a submission and waits for its commit. Once queued it is carried out even when the
    /// future is dropped.
    pub(super) async fn submit(&self, new: NewSubmission) -> Answer {
        let (reply, answer) = oneshot::channel();
        let queue = &self.queues[place(&new.form)];
        queue.send(Waiting { new, reply }).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Carries out what is queued, and takes no more.
    pub(super) async fn close(&self) {
        self.closing.send_replace(true);
        for working in self.working.lock().await.drain(..) {
            // A panic is told where it happened.
            let _ = working.await;
        }
    }
}

/// Which of the queues a form's submissions wait in.
fn place(form: &FormId) -> usize {
    let mut hasher = DefaultHasher::new();
    form.hash(&mut hasher);
    let place = hasher.finish() % AT_A_TIME as u64;
    usize::try_from(place).expect("less than their number")
}

async fn work(
    desk: Desk,
    waiting: Arc<Mutex<mpsc::Receiver<Waiting>>>,
    mut closing: tokio::sync::watch::Receiver<bool>,
) {
    loop {
        let mut batch = Vec::with_capacity(BATCH_MAX);
        let left = {
            let mut waiting = waiting.lock().await;
            let is_closing = tokio::select! {
                biased;
                _ = waiting.recv_many(&mut batch, BATCH_MAX) => false,
                closing = closing.wait_for(|closing| *closing) => closing.is_ok(),
            };
            if is_closing {
                // Takes no more, and hands out what is queued until it is empty.
                waiting.close();
                waiting.recv_many(&mut batch, BATCH_MAX).await;
            }
            waiting.len()
        };
        if batch.is_empty() {
            return;
        }
        let (new, replies): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.new, waiting.reply)).unzip();
        let answers = desk.accept(&new, left).await;
        for (reply, answer) in replies.into_iter().zip(answers) {
            // The caller may have gone.
            let _ = reply.send(answer);
        }
    }
}

impl Desk {
    /// Accepts submissions together, or one by one when one of them stands in the way of all.
    async fn accept(&self, batch: &[NewSubmission], waiting: usize) -> Vec<Answer> {
        match self.commit(batch, waiting).await {
            Ok(answers) => answers,
            Err(error) if batch.len() > 1 && is_of_one(&error) => {
                let mut answers = Vec::with_capacity(batch.len());
                for new in batch {
                    let alone = self.commit(std::slice::from_ref(new), waiting).await;
                    answers.push(alone.and_then(|mut answers| answers.pop().ok_or_else(closed)?));
                }
                answers
            }
            Err(error) => refuse_all(batch.len(), error),
        }
    }

    async fn commit(
        &self,
        batch: &[NewSubmission],
        waiting: usize,
    ) -> Result<Vec<Answer>, StoreError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let began = Instant::now();
            let committed = self.try_commit(batch).await;
            let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            let commit = |succeeded| Commit {
                succeeded,
                writes: count(batch.len()),
                waiting: count(waiting),
                took: began.elapsed(),
            };
            match committed {
                Ok(Outcome { answers, endpoints }) => {
                    (self.told)(commit(true), &endpoints);
                    return Ok(answers);
                }
                Err(error) if is_conflict(&error) && tries < TRIES => {}
                Err(error) => {
                    if !is_of_one(&error) {
                        let cause = on_one_line(&error);
                        tracing::error!(
                            cause,
                            writes = batch.len(),
                            "commit failed; its writes are refused"
                        );
                        (self.told)(commit(false), &[]);
                    }
                    return Err(error);
                }
            }
        }
    }

    async fn try_commit(&self, batch: &[NewSubmission]) -> Result<Outcome, StoreError> {
        let db = Lent::by(&self.pool).await?;
        match accept::accept(&db, batch, self).await {
            Ok(outcome) => {
                db.give_back();
                Ok(outcome)
            }
            Err(Failed::Refused(error)) => Err(error),
            Err(Failed::InDoubt(outcome, error)) => {
                drop(db);
                if self.is_kept(batch, &outcome).await { Ok(outcome) } else { Err(error) }
            }
        }
    }

    /// A commit that was not answered may have been made: what is there tells.
    async fn is_kept(&self, batch: &[NewSubmission], outcome: &Outcome) -> bool {
        const FOR: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_millis(100);
        let ids: Vec<_> = batch.iter().map(|new| new.id.clone()).collect();
        let looking = async {
            loop {
                if let Ok(db) = Lent::by(&self.pool).await
                    && let Ok(kept) = accept::kept(&*db, &ids).await
                {
                    db.give_back();
                    return kept;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let Ok(kept) = tokio::time::timeout(FOR, looking).await else { return false };
        let made = outcome.answers.iter().flatten().filter(|accepted| !accepted.repeated);
        made.map(|accepted| accepted.id.as_str()).all(|id| kept.contains_key(id))
    }
}

/// Whether a failure is that of one submission.
fn is_of_one(error: &StoreError) -> bool {
    matches!(error, StoreError::Exists { .. }) || is_of_the_data(error)
}

/// One lost transaction, told to every submission that was in it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the transaction was not committed")]
struct NotCommitted(#[source] Arc<StoreError>);

fn refuse_all(count: usize, error: StoreError) -> Vec<Answer> {
    if count == 1 {
        return vec![Err(error)];
    }
    let error = NotCommitted(Arc::new(error));
    (0..count).map(|_| Err(StoreError::Unavailable(Some(Box::new(error.clone()))))).collect()
}
