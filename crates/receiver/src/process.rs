//! Running a handler once for each key.

#[cfg(feature = "rt")]
mod detached;
mod key;
mod outcome;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

#[cfg(feature = "rt")]
pub use self::detached::process_once_detached;
pub use self::key::IdempotencyKey;
pub use self::outcome::{Outcome, Panic};
use crate::inbox::{
    Claim, ClaimToken, Inbox, InboxError, InboxErrorKind, PROCESS_LEASE_MAX, Pending, Queue,
};

/// Runs a handler for a delivery, unless it was handled or is being handled, and marks the delivery as
/// handled when it succeeds.
///
/// The key is the `submission_id` of a verified delivery (SPEC §6): give the [`Verified`](crate::Verified)
/// itself. Answer with [`Outcome::status`] and [`Outcome::retry_after`]: a success is told only once the mark
/// is durable.
///
/// | The handler | The claim |
/// |---|---|
/// | gives `Ok` | is completed; once more, when the store does not answer |
/// | gives `Err`, or panics | is released, so that the sender's next attempt is handled |
/// | is dropped with this future | holds until its lease ends |
/// | takes longer than the lease | may be taken over, and then is [`Outcome::Lost`] |
///
/// **Servers drop this future** when the sender hangs up, and time limits do. What the handler began may run
/// on nevertheless, a blocking call or a request that was sent, so the claim is not given up: it holds until
/// its lease ends. And a future that is dropped after the handler has succeeded may leave no mark, so that it
/// is handled again. `process_once_detached`, of the feature `rt`, has neither trouble.
///
/// Nothing prolongs the lease by itself: choose one that is longer than the handler takes at worst, or have
/// the handler [extend](Inbox::extend) it with the token that it is given. A lease over
/// [`PROCESS_LEASE_MAX`] is refused, as [`Outcome::NotClaimed`] with [`InboxErrorKind::Lease`], before
/// anything is claimed; what takes longer belongs in a [`Queue`].
///
/// ```
/// use formsvc_receiver::inbox::{DEFAULT_LEASE, MemoryInbox};
/// use formsvc_receiver::{Outcome, process_once};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let inbox = MemoryInbox::builder().build()?;
/// let handle = |_claim| async { Ok::<_, std::io::Error>("a letter was sent") };
/// let first = process_once(&inbox, "sub_1", DEFAULT_LEASE, handle).await;
/// assert!(matches!(first, Outcome::Done("a letter was sent")));
/// let again = process_once(&inbox, "sub_1", DEFAULT_LEASE, handle).await;
/// assert!(matches!(again, Outcome::Duplicate));
/// assert_eq!((first.status(), again.status()), (200, 200));
/// # Ok(()) })
/// # }
/// ```
pub async fn process_once<I, K, T, E, H, F>(
    inbox: &I,
    key: &K,
    lease: Duration,
    handler: H,
) -> Outcome<T, E>
where
    I: Inbox + ?Sized,
    K: IdempotencyKey + ?Sized,
    H: FnOnce(ClaimToken) -> F,
    F: Future<Output = Result<T, E>>,
{
    if lease > PROCESS_LEASE_MAX {
        let most = PROCESS_LEASE_MAX.as_secs();
        let why = format!("a lease of `{lease:?}` outlasts the sender's retries: {most} s at most");
        return Outcome::NotClaimed(InboxError::with_source(InboxErrorKind::Lease, why));
    }
    let token = match inbox.claim(key.idempotency_key(), lease).await {
        Ok(Claim::Acquired(token)) => token,
        Ok(Claim::Duplicate) => return Outcome::Duplicate,
        Ok(Claim::InFlight { retry_after }) => return Outcome::InFlight { retry_after },
        Err(error) => return Outcome::NotClaimed(error),
    };
    let held = token.clone();
    match caught(async { handler(token).await }).await {
        Ok(Ok(value)) => completed(inbox, &held, value).await,
        Ok(Err(error)) => {
            release(inbox, &held).await;
            Outcome::Failed(error)
        }
        Err(panic) => {
            release(inbox, &held).await;
            Outcome::Panicked(panic)
        }
    }
}

/// Takes what is next in a queue and runs a handler for it; `None` when nothing is due.
///
/// As [`process_once`], but what failed is due again after the pause that `retry_after` tells from how often
/// it was attempted, of at most [`LEASE_MAX`](crate::inbox::LEASE_MAX). There is no last attempt: a handler
/// that gives up, such as one whose [`Pending::attempts`] are too many, puts the delivery where people look
/// and gives `Ok`. A lease may be as long as `LEASE_MAX`: no sender waits.
///
/// What a worker had taken that is dropped or dies is due again when its lease ends.
///
/// # Errors
///
/// Those of [`Queue::next`], which can come at once while the store is unavailable. A worker that asks in a
/// loop pauses after them, as it does after `None`.
pub async fn process_next<Q, T, E, H, F>(
    queue: &Q,
    lease: Duration,
    retry_after: impl FnOnce(u32) -> Duration,
    handler: H,
) -> Result<Option<Outcome<T, E>>, InboxError>
where
    Q: Queue + ?Sized,
    H: FnOnce(Pending) -> F,
    F: Future<Output = Result<T, E>>,
{
    let Some(pending) = queue.next(lease).await? else { return Ok(None) };
    let (token, attempts) = (pending.token.clone(), pending.attempts);
    let give_back = async || {
        // When it cannot be given back, the lease runs out by itself.
        let _ = queue.retry(&token, retry_after(attempts)).await;
    };
    Ok(Some(match caught(async { handler(pending).await }).await {
        Ok(Ok(value)) => completed(queue, &token, value).await,
        Ok(Err(error)) => {
            give_back().await;
            Outcome::Failed(error)
        }
        Err(panic) => {
            give_back().await;
            Outcome::Panicked(panic)
        }
    }))
}

async fn completed<I: Inbox + ?Sized, T, E>(
    inbox: &I,
    token: &ClaimToken,
    value: T,
) -> Outcome<T, E> {
    let completed = match inbox.complete(token).await {
        // It may be there nevertheless; repeating it does no harm, and not doing so repeats the effect.
        Err(error) if error.kind() == InboxErrorKind::Unavailable => inbox.complete(token).await,
        settled => settled,
    };
    match completed {
        Ok(()) => Outcome::Done(value),
        Err(error) if error.kind() == InboxErrorKind::ClaimLost => Outcome::Lost(value),
        Err(error) => Outcome::NotCompleted { value, error },
    }
}

/// Releases the claim of a handler that has ended without success.
async fn release<I: Inbox + ?Sized>(inbox: &I, token: &ClaimToken) {
    let dropped = Abandon(Some((inbox, token)));
    // When it cannot be released, the lease runs out by itself.
    let _ = inbox.release(token).await;
    dropped.settled();
}

/// A claim that is abandoned when whoever waits for its release is dropped. Nothing runs any more that would
/// need it.
struct Abandon<'a, I: Inbox + ?Sized>(Option<(&'a I, &'a ClaimToken)>);

impl<I: Inbox + ?Sized> Abandon<'_, I> {
    fn settled(mut self) {
        self.0 = None;
    }
}

impl<I: Inbox + ?Sized> Drop for Abandon<'_, I> {
    fn drop(&mut self) {
        if let Some((inbox, token)) = self.0 {
            inbox.abandon(token);
        }
    }
}

/// Runs a future; when it panics, gives what it panicked with. It is not polled again.
async fn caught<F: Future>(future: F) -> Result<F::Output, Panic> {
    let mut future = pin!(future);
    poll_fn(|context| {
        // What the handler left half done is its caller's, as after any error.
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(payload) => std::task::Poll::Ready(Err(Panic::new(payload))),
        }
    })
    .await
}
