//! Runs a handler once per idempotency key.

mod idempotency_key;
mod outcome;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

pub use self::idempotency_key::IdempotencyKey;
pub use self::outcome::ProcessOutcome;
use crate::inbox::{
    Claim, ClaimToken, DEFAULT_LEASE, Inbox, InboxError, InboxErrorKind, PROCESS_LEASE_MAX, Queue,
    QueuedDelivery,
};

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Runs a handler for a delivery that was not handled yet, and marks the delivery as handled if the
/// handler succeeds.
///
/// The delivery is a [`Verified<SubmissionCreated>`](crate::Verified) with its `submission_id` as the key
/// (SPEC §6), or anything else with an [`IdempotencyKey`]. The inbox is a clone, or an `Arc`. Await the
/// result, and respond as [`ProcessOutcome`] describes; with axum, return it.
///
/// | Handler | Claim |
/// |---|---|
/// | returns `Ok` | completed; once more if the store does not answer |
/// | returns `Err`, or panics | released, so that the sender's next attempt is handled |
/// | takes longer than the lease | can be taken over; then the outcome is [`ProcessOutcome::Lost`] |
///
/// The handler runs in a tokio task of its own: if the sender disconnects and the server drops the
/// request, it runs to its end and the delivery is marked. Nothing starts before the first poll. The
/// number of these tasks is not limited here, and a lease does not end them.
///
/// ```
/// use formsvc_receiver::inbox::{ClaimToken, MemoryInbox};
/// use formsvc_receiver::{SubmissionCreated, Verified, process_once};
///
/// async fn hook(inbox: MemoryInbox, submission: Verified<SubmissionCreated>) -> http::StatusCode {
///     let processing = process_once(inbox, submission, send_mail)
///         .inspect_failure(|failure| eprintln!("{failure}"));
///     processing.await.status()
/// }
///
/// async fn send_mail(
///     submission: Verified<SubmissionCreated>,
///     _claim: ClaimToken,
/// ) -> Result<(), std::io::Error> {
///     println!("{} was submitted", submission.submission_id);
///     Ok(())
/// }
/// ```
pub fn process_once<I, K, H, F, T, E>(
    inbox: I,
    delivery: K,
    handler: H,
) -> ProcessOnce<I, K, H, T, E>
where
    I: Inbox,
    K: IdempotencyKey + Send + 'static,
    H: FnOnce(K, ClaimToken) -> F + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: fmt::Display + Send + 'static,
{
    ProcessOnce { inbox, delivery, handler, lease: DEFAULT_LEASE, inspect: None }
}

type Inspect<T, E> = Box<dyn FnOnce(&ProcessOutcome<T, E>) + Send>;

/// A call of [`process_once`], to be awaited.
#[must_use = "nothing happens until it is awaited"]
pub struct ProcessOnce<I, K, H, T, E> {
    inbox: I,
    delivery: K,
    handler: H,
    lease: Duration,
    inspect: Option<Inspect<T, E>>,
}

impl<I, K, H, T, E> ProcessOnce<I, K, H, T, E> {
    /// Sets the lease: [`DEFAULT_LEASE`] by default, at most [`PROCESS_LEASE_MAX`]. It must be longer
    /// than the handler takes, unless the handler [extends](Inbox::extend) it.
    pub fn lease(self, lease: Duration) -> Self {
        Self { lease, ..self }
    }

    /// Sets a function that receives the outcome if the delivery was not handled because of an error, a
    /// panic, a lost claim or a store failure. It also runs if the request was dropped.
    ///
    /// With the feature `tracing`, such outcomes are also reported as an event.
    pub fn inspect_failure(
        self,
        inspect: impl FnOnce(&ProcessOutcome<T, E>) + Send + 'static,
    ) -> Self {
        Self { inspect: Some(Box::new(inspect)), ..self }
    }
}

impl<I, K, H, T, E> fmt::Debug for ProcessOnce<I, K, H, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProcessOnce").field("lease", &self.lease).finish_non_exhaustive()
    }
}

impl<I, K, H, F, T, E> IntoFuture for ProcessOnce<I, K, H, T, E>
where
    I: Inbox,
    K: IdempotencyKey + Send + 'static,
    H: FnOnce(K, ClaimToken) -> F + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: fmt::Display + Send + 'static,
{
    type Output = ProcessOutcome<T, E>;
    type IntoFuture = BoxFuture<Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { inbox, delivery, handler, lease, inspect } = self;
        Box::pin(in_task(async move {
            let key = delivery.idempotency_key().to_owned();
            let outcome = claim_and_handle(&inbox, &key, lease, |token| handler(delivery, token));
            let outcome = outcome.await;
            if outcome.is_failure() {
                report(&key, &outcome);
                if let Some(inspect) = inspect {
                    inspect(&outcome);
                }
            }
            outcome
        }))
    }
}

async fn claim_and_handle<I, F, T, E>(
    inbox: &I,
    key: &str,
    lease: Duration,
    handler: impl FnOnce(ClaimToken) -> F + Send + 'static,
) -> ProcessOutcome<T, E>
where
    I: Inbox,
    F: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    if lease > PROCESS_LEASE_MAX {
        let problem = format!("lease `{lease:?}` is over the maximum of {PROCESS_LEASE_MAX:?}");
        let error = InboxError::with_source(InboxErrorKind::InvalidLease, problem);
        return ProcessOutcome::NotClaimed(error);
    }
    let token = match inbox.claim(key, lease).await {
        Ok(Claim::Acquired(token)) => token,
        Ok(Claim::Duplicate) => return ProcessOutcome::Duplicate,
        Ok(Claim::InFlight { retry_after }) => return ProcessOutcome::InFlight { retry_after },
        Err(error) => return ProcessOutcome::NotClaimed(error),
    };
    let handled_token = token.clone();
    let outcome = run_handler(inbox, &token, async move { handler(handled_token).await }).await;
    if outcome.releases_claim() {
        // If this fails, the claim ends with its lease.
        let _ = inbox.release(&token).await;
    }
    outcome
}

/// Claims the next due delivery of a queue and runs a handler for it; `None` if no delivery is due.
///
/// Works like [`process_once`], in a task of its own, with any lease. If the handler fails, the delivery is
/// due again after the pause that `retry_after` returns for its number of attempts. There is no last
/// attempt: a handler that gives up after some [`attempts`](QueuedDelivery::attempts) stores the delivery
/// elsewhere and returns `Ok`. With the feature `tracing`, failures are reported as an event.
///
/// # Errors
///
/// Those of [`Queue::next`]. A worker should pause after an error, and after `None`.
pub async fn process_next<Q, H, F, T, E>(
    queue: Q,
    lease: Duration,
    retry_after: impl FnOnce(u32) -> Duration + Send + 'static,
    handler: H,
) -> Result<Option<ProcessOutcome<T, E>>, InboxError>
where
    Q: Queue,
    H: FnOnce(QueuedDelivery) -> F + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
    T: Send + 'static,
    E: fmt::Display + Send + 'static,
{
    let task = tokio::spawn(async move {
        let Some(delivery) = queue.next(lease).await? else { return Ok(None) };
        let (token, attempts) = (delivery.token.clone(), delivery.attempts);
        let outcome = run_handler(&queue, &token, async move { handler(delivery).await }).await;
        if outcome.releases_claim() {
            // If this fails, the delivery is due when its lease ends.
            let _ = queue.retry(&token, retry_after(attempts)).await;
        }
        if outcome.is_failure() {
            report(token.key(), &outcome);
        }
        Ok(Some(outcome))
    });
    task.await
        .unwrap_or_else(|error| Err(InboxError::with_source(InboxErrorKind::Unavailable, error)))
}

/// Runs work in a task, so that it continues if the returned future is dropped.
async fn in_task<T: Send + 'static, E: Send + 'static>(
    work: impl Future<Output = ProcessOutcome<T, E>> + Send + 'static,
) -> ProcessOutcome<T, E> {
    match tokio::spawn(work).await {
        Ok(outcome) => outcome,
        Err(error) if error.is_panic() => ProcessOutcome::Panicked,
        // The runtime was shut down.
        Err(error) => {
            ProcessOutcome::NotClaimed(InboxError::with_source(InboxErrorKind::Unavailable, error))
        }
    }
}

/// Runs a handler in a task, which catches its panic, and completes its claim if it succeeds.
async fn run_handler<I: Inbox, T: Send + 'static, E: Send + 'static>(
    inbox: &I,
    token: &ClaimToken,
    handler: impl Future<Output = Result<T, E>> + Send + 'static,
) -> ProcessOutcome<T, E> {
    let value = match tokio::spawn(handler).await {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => return ProcessOutcome::Failed(error),
        Err(_) => return ProcessOutcome::Panicked,
    };
    let completed = match inbox.complete(token).await {
        // The mark may exist. Repeating the call is harmless, and without a mark the effect is repeated.
        Err(error) if error.kind() == InboxErrorKind::Unavailable => inbox.complete(token).await,
        completed => completed,
    };
    match completed {
        Ok(()) => ProcessOutcome::Done(value),
        Err(error) if error.kind() == InboxErrorKind::ClaimLost => ProcessOutcome::Lost(value),
        Err(error) => ProcessOutcome::NotCompleted { value, error },
    }
}

/// Emits the event for a failure.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "the event is optional"))]
fn report<T, E: fmt::Display>(key: &str, outcome: &ProcessOutcome<T, E>) {
    #[cfg(feature = "tracing")]
    {
        let key: String = key.chars().take(crate::inbox::KEY_MAX).collect();
        tracing::error!(?key, failure = %outcome, "delivery was not handled");
    }
}
