//! Running a handler once for each key.

mod outcome;

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

pub use self::outcome::{Outcome, Panic};
use crate::inbox::{Claim, ClaimToken, Inbox, InboxError, InboxErrorKind, Pending, Queue};

/// Runs a handler for a delivery, unless it was handled or is being handled, and marks the delivery as
/// handled when it succeeds.
///
/// The key is the `submission_id` of a verified delivery (SPEC §6). Answer with [`Outcome::status`] and
/// [`Outcome::retry_after`]: a success is told only once the mark is durable.
///
/// | The handler | The claim |
/// |---|---|
/// | gives `Ok` | is completed; once more, when the store does not answer |
/// | gives `Err`, or panics | is released, so that the sender's next attempt is handled |
/// | is dropped with this future | is [abandoned](Inbox::abandon): released in the background, or by the end of the lease |
/// | takes longer than the lease | may be taken over, and then is [`Outcome::Lost`] |
///
/// Nothing prolongs the lease by itself: choose one that is longer than the handler takes at worst, or have
/// the handler [extend](Inbox::extend) it with the token that it is given.
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
pub async fn process_once<I, T, E, H, F>(
    inbox: &I,
    key: &str,
    lease: Duration,
    handler: H,
) -> Outcome<T, E>
where
    I: Inbox + ?Sized,
    H: FnOnce(ClaimToken) -> F,
    F: Future<Output = Result<T, E>>,
{
    let token = match inbox.claim(key, lease).await {
        Ok(Claim::Acquired(token)) => token,
        Ok(Claim::Duplicate) => return Outcome::Duplicate,
        Ok(Claim::InFlight { retry_after }) => return Outcome::InFlight { retry_after },
        Err(error) => return Outcome::NotClaimed(error),
    };
    let held = Held { inbox, token: Some(token.clone()) };
    match caught(async { handler(token).await }).await {
        Ok(Ok(value)) => completed(held, value).await,
        Ok(Err(error)) => {
            held.release().await;
            Outcome::Failed(error)
        }
        Err(panic) => {
            held.release().await;
            Outcome::Panicked(panic)
        }
    }
}

/// Takes what is next in a queue and runs a handler for it; `None` when nothing is due.
///
/// As [`process_once`], but what failed is due again after the pause that `retry_after` tells from how often
/// it was attempted, of at most [`LEASE_MAX`](crate::inbox::LEASE_MAX). There is no last attempt: a handler
/// that gives up, such as one whose [`Pending::attempts`] are too many, puts the delivery where people look
/// and gives `Ok`.
///
/// The answers of a sender come from [`Queue::accept`]; nobody waits for this outcome. A worker that asks in
/// a loop pauses after `None`, and after [`Outcome::NotClaimed`] too, which can come at once while the store
/// is unavailable.
pub async fn process_next<Q, T, E, H, F>(
    queue: &Q,
    lease: Duration,
    retry_after: impl FnOnce(u32) -> Duration,
    handler: H,
) -> Option<Outcome<T, E>>
where
    Q: Queue + ?Sized,
    H: FnOnce(Pending) -> F,
    F: Future<Output = Result<T, E>>,
{
    let pending = match queue.next(lease).await {
        Ok(pending) => pending?,
        Err(error) => return Some(Outcome::NotClaimed(error)),
    };
    let (token, attempts) = (pending.token.clone(), pending.attempts);
    let held = Held { inbox: queue, token: Some(token.clone()) };
    let give_back = async |held: Held<'_, Q>| {
        // When it cannot be given back, the lease runs out by itself.
        let _ = queue.retry(&token, retry_after(attempts)).await;
        held.settled();
    };
    Some(match caught(async { handler(pending).await }).await {
        Ok(Ok(value)) => completed(held, value).await,
        Ok(Err(error)) => {
            give_back(held).await;
            Outcome::Failed(error)
        }
        Err(panic) => {
            give_back(held).await;
            Outcome::Panicked(panic)
        }
    })
}

async fn completed<I: Inbox + ?Sized, T, E>(held: Held<'_, I>, value: T) -> Outcome<T, E> {
    match held.complete().await {
        Ok(()) => Outcome::Done(value),
        Err(error) if error.kind() == InboxErrorKind::ClaimLost => Outcome::Lost(value),
        Err(error) => Outcome::NotCompleted { value, error },
    }
}

/// A claim that is abandoned unless it was settled: whoever drops a future drops this.
struct Held<'a, I: Inbox + ?Sized> {
    inbox: &'a I,
    token: Option<ClaimToken>,
}

impl<I: Inbox + ?Sized> Held<'_, I> {
    async fn complete(mut self) -> Result<(), InboxError> {
        // The effect is there: from here on, dropping it must not invite another.
        let Some(token) = self.token.take() else { return Ok(()) };
        match self.inbox.complete(&token).await {
            // It may be there nevertheless; repeating it does no harm, and not doing so repeats the effect.
            Err(error) if error.kind() == InboxErrorKind::Unavailable => {
                self.inbox.complete(&token).await
            }
            settled => settled,
        }
    }

    async fn release(self) {
        if let Some(token) = &self.token {
            // When it cannot be released, the lease runs out by itself.
            let _ = self.inbox.release(token).await;
        }
        self.settled();
    }

    fn settled(mut self) {
        self.token = None;
    }
}

impl<I: Inbox + ?Sized> Drop for Held<'_, I> {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            self.inbox.abandon(&token);
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
