//! Submissions that wait at the same time share a transaction, and are answered after its commit.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::Pool;
use formsvc_protocol::FormId;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::accept::{self, Beginning, Begun, Failed, Outcome};
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
/// Transactions begun ahead, one behind the other, at most. Whoever begins right behind its own commit gets
/// the form's lock before another process, which waited for it, has woken.
const AHEAD_MAX: u32 = 8;
/// Batches that begin their own transaction after one that did not fit into what was begun for it.
const UNFIT_REST: u32 = 100;
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
    // Until it panics, nobody else takes from the queue.
    let mut waiting = waiting.lock().await;
    let mut ahead = Ahead::of(&desk);
    loop {
        let begun = ahead.begun().await;
        let mut batch = Vec::with_capacity(BATCH_MAX);
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
        if batch.is_empty() {
            return;
        }
        let (new, replies): (Vec<_>, Vec<_>) =
            batch.into_iter().map(|waiting| (waiting.new, waiting.reply)).unzip();
        ahead.keep_if_fit(begun, &new).await;
        let answers = desk.accept(&new, &waiting, &mut ahead).await;
        for (reply, answer) in replies.into_iter().zip(answers) {
            // The caller may have gone.
            let _ = reply.send(answer);
        }
    }
}

/// The next transaction, begun while the last one was committed.
struct Ahead {
    desk: Desk,
    beginning: Option<Beginning>,
    begun: Option<Begun>,
    pace: Pace,
}

impl Ahead {
    fn of(desk: &Desk) -> Self {
        // Others need to find a connection while this one is kept from batch to batch.
        let has_room = desk.pool.status().max_size > AT_A_TIME * 2;
        let pace = Pace { has_room, in_a_row: 0, rest: 0 };
        Self { desk: desk.clone(), beginning: None, begun: None, pace }
    }

    /// Waits until it has begun.
    async fn begun(&mut self) -> Option<Begun> {
        // When that failed, the batch begins its own, and finds out why.
        self.beginning.take()?.await.ok()?.ok()
    }

    /// Keeps what was begun if the batch can be accepted in it.
    async fn keep_if_fit(&mut self, begun: Option<Begun>, batch: &[NewSubmission]) {
        let Some(begun) = begun else { return };
        if begun.is_for(batch) {
            self.begun = Some(begun);
        } else {
            self.pace.rest();
            begun.undo(&self.desk).await;
        }
    }
}

/// When transactions are begun ahead.
struct Pace {
    has_room: bool,
    /// Begun one behind the other.
    in_a_row: u32,
    /// Batches that are each to begin their own.
    rest: u32,
}

impl Pace {
    /// What was begun ahead was of no use.
    fn rest(&mut self) {
        self.rest = UNFIT_REST;
    }

    /// Whether the next transaction should be begun, when so many wait for it.
    fn is_wanted(&mut self, waiting: usize) -> bool {
        let rests = self.rest > 0;
        self.rest = self.rest.saturating_sub(1);
        let is_wanted = self.has_room && !rests && waiting > 0 && self.in_a_row < AHEAD_MAX;
        self.in_a_row = if is_wanted { self.in_a_row + 1 } else { 0 };
        is_wanted
    }
}

impl Desk {
    /// Accepts submissions together, or one by one when one of them stands in the way of all.
    async fn accept(
        &self,
        batch: &[NewSubmission],
        queue: &mpsc::Receiver<Waiting>,
        ahead: &mut Ahead,
    ) -> Vec<Answer> {
        match self.commit(batch, queue, ahead).await {
            Ok(answers) => answers,
            Err(error) if batch.len() > 1 && is_of_one(&error) => {
                let mut answers = Vec::with_capacity(batch.len());
                for new in batch {
                    // Each begins its own, and so does the next batch.
                    ahead.pace.rest();
                    let alone = self.commit(std::slice::from_ref(new), queue, ahead).await;
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
        queue: &mpsc::Receiver<Waiting>,
        ahead: &mut Ahead,
    ) -> Result<Vec<Answer>, StoreError> {
        let waiting = queue.len();
        let mut tries = 0;
        loop {
            tries += 1;
            let began = Instant::now();
            let committed = self.try_commit(batch, queue, ahead).await;
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

    async fn try_commit(
        &self,
        batch: &[NewSubmission],
        queue: &mpsc::Receiver<Waiting>,
        ahead: &mut Ahead,
    ) -> Result<Outcome, StoreError> {
        let begun = match ahead.begun.take() {
            Some(begun) => begun,
            None => Begun::of(batch, self).await?,
        };
        match accept::accept(begun, batch, self, || ahead.pace.is_wanted(queue.len())).await {
            Ok((outcome, beginning)) => {
                ahead.beginning = beginning;
                Ok(outcome)
            }
            Err(Failed::Refused(error)) => Err(error),
            Err(Failed::InDoubt(outcome, error)) => {
                if self.is_kept(batch, &outcome).await {
                    Ok(outcome)
                } else {
                    Err(error)
                }
            }
        }
    }

    /// Returns true if a commit without an answer was made. The lost transaction may still run, so its
    /// end is waited for.
    async fn is_kept(&self, batch: &[NewSubmission], outcome: &Outcome) -> bool {
        // No caller waits longer.
        const FOR: Duration = Duration::from_secs(10);
        const PAUSE: Duration = Duration::from_millis(100);
        let looking = async {
            loop {
                if let Ok(db) = Lent::by(&self.pool).await
                    && let Ok(kept) = accept::kept(&*db, batch).await
                {
                    db.give_back();
                    return kept;
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        let Ok(kept) = tokio::time::timeout(FOR, looking).await else { return false };
        let made = outcome.answers.iter().flatten().filter(|accepted| !accepted.repeated);
        made.map(|accepted| accepted.id.as_str()).all(|id| kept.contains(id))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(pace: &mut Pace, times: u32, waiting: usize) -> Vec<bool> {
        (0..times).map(|_| pace.is_wanted(waiting)).collect()
    }

    #[test]
    fn other_processes_get_their_turn_at_a_form() {
        let mut pace = Pace { has_room: true, in_a_row: 0, rest: 0 };
        let turn = [vec![true; 8], vec![false]].concat();
        assert_eq!(wanted(&mut pace, 18, 1), [turn.clone(), turn].concat());
    }

    #[test]
    fn nothing_is_begun_for_nobody_or_with_the_last_connections_or_after_it_was_of_no_use() {
        let mut pace = Pace { has_room: true, in_a_row: 0, rest: 0 };
        assert!(!pace.is_wanted(0));
        assert!(pace.is_wanted(1));
        pace.rest();
        assert_eq!(wanted(&mut pace, UNFIT_REST, 1), vec![false; UNFIT_REST as usize]);
        assert!(pace.is_wanted(1));
        assert!(!Pace { has_room: false, ..pace }.is_wanted(1));
    }
}
