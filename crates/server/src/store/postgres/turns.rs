//! Questions that come while a round trip is under way share the next one.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::task::JoinHandle;

use super::fault::closed;
use super::lent::in_time;
use crate::store::StoreError;
use crate::supervise::supervise;

/// Questions of one round trip, at most.
const BATCH_MAX: usize = 512;
/// Questions that may wait; a caller beyond them waits to be queued.
const QUEUE_MAX: usize = 1_024;

/// A question that waits.
struct Waiting<Q, A> {
    question: Q,
    reply: oneshot::Sender<Result<A, StoreError>>,
}

/// Where questions are handed in.
pub(super) struct Turns<Q, A> {
    queue: mpsc::Sender<Waiting<Q, A>>,
    working: JoinHandle<()>,
}

/// The database did not answer; told to everyone who asked.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the database did not answer")]
struct NotAnswered(#[source] Arc<StoreError>);

impl<Q: Send + 'static, A: Send + 'static> Turns<Q, A> {
    /// Begins to answer. Must be called within a tokio runtime.
    pub(super) fn start(
        name: &'static str,
        pool: &Pool,
        within: Duration,
        ask: impl Ask<Q, A>,
    ) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let (pool, ask, waiting) = (pool.clone(), Arc::new(ask), Arc::new(Mutex::new(waiting)));
        let working = tokio::spawn(supervise(name, move || {
            work(pool.clone(), within, Arc::clone(&ask), Arc::clone(&waiting))
        }));
        Self { queue, working }
    }

    /// Asks. A question whose future is dropped before its turn is not asked.
    pub(super) async fn ask(&self, question: Q) -> Result<A, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Waiting { question, reply }).await.map_err(|_| closed())?;
        answer.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Answers no more.
    pub(super) fn close(&self) {
        self.working.abort();
    }
}

impl<Q, A> Drop for Turns<Q, A> {
    fn drop(&mut self) {
        self.working.abort();
    }
}

/// What asks the database: one answer to each question, in their order.
pub(super) trait Ask<Q, A>: Send + Sync + 'static {
    fn ask(
        &self,
        pool: &Pool,
        questions: Vec<Q>,
    ) -> impl Future<Output = Result<Vec<A>, StoreError>> + Send;
}

async fn work<Q: Send, A: Send>(
    pool: Pool,
    within: Duration,
    ask: Arc<impl Ask<Q, A>>,
    waiting: Arc<Mutex<mpsc::Receiver<Waiting<Q, A>>>>,
) {
    let mut waiting = waiting.lock().await;
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while waiting.recv_many(&mut batch, BATCH_MAX).await > 0 {
        let (questions, replies): (Vec<_>, Vec<_>) = batch
            .drain(..)
            .filter(|waiting| !waiting.reply.is_closed())
            .map(|Waiting { question, reply }| (question, reply))
            .unzip();
        if questions.is_empty() {
            continue;
        }
        let answered = in_time(&pool, within, ask.ask(&pool, questions)).await.flatten();
        answer(replies, answered);
    }
}

fn answer<A>(
    replies: Vec<oneshot::Sender<Result<A, StoreError>>>,
    answered: Result<Vec<A>, StoreError>,
) {
    // A caller may have gone.
    match answered {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                let _ = reply.send(Ok(answer));
            }
        }
        Err(error) => {
            let error = NotAnswered(Arc::new(error));
            for reply in replies {
                let _ = reply.send(Err(StoreError::Unavailable(Some(Box::new(error.clone())))));
            }
        }
    }
}
