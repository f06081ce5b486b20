//! Running a handler once for each key, whoever waits for it.

use std::time::Duration;

use super::{IdempotencyKey, Outcome, Panic, process_once};
use crate::inbox::{ClaimToken, Inbox, InboxError, InboxErrorKind};

/// As [`process_once`], in a task of its own: a sender that hangs up, or a time limit around the request,
/// ends the waiting and not the handler, and what succeeded is marked as handled all the same.
///
/// **The one to use in a server.** hyper drops the future of a request whose connection has closed, and with
/// it a handler in the middle of its work.
///
/// Takes the delivery and hands it to the handler, with the claim. The inbox is a clone, or an
/// [`Arc`](std::sync::Arc) of one that has no clones. The task runs on the tokio runtime of whoever polls this
/// first, and panics without one; nothing runs before that. When the runtime is shut down meanwhile, the
/// outcome is [`Outcome::NotClaimed`], and the claim, if there is one, ends with its lease. As many tasks run
/// as there are deliveries being handled: a limit of requests does not bound them, the lease does not end
/// them.
///
/// ```
/// use formsvc_receiver::inbox::{DEFAULT_LEASE, MemoryInbox};
/// use formsvc_receiver::{Outcome, SubmissionCreated, Verified, process_once_detached};
///
/// async fn hook(inbox: &MemoryInbox, submission: Verified<SubmissionCreated>) -> u16 {
///     process_once_detached(inbox.clone(), submission, DEFAULT_LEASE, send_letter).await.status()
/// }
///
/// async fn send_letter(
///     submission: Verified<SubmissionCreated>,
///     _claim: formsvc_receiver::inbox::ClaimToken,
/// ) -> Result<(), std::io::Error> {
///     println!("{} was submitted", submission.submission_id);
///     Ok(())
/// }
/// ```
pub async fn process_once_detached<I, K, T, E, H, F>(
    inbox: I,
    delivery: K,
    lease: Duration,
    handler: H,
) -> Outcome<T, E>
where
    I: Inbox,
    K: IdempotencyKey + Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
    H: FnOnce(K, ClaimToken) -> F + Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let task = tokio::spawn(async move {
        let key = delivery.idempotency_key().to_owned();
        process_once(&inbox, &key, lease, |claim| handler(delivery, claim)).await
    });
    match task.await {
        Ok(outcome) => outcome,
        // Not the handler, whose panics are caught, but an inbox of somebody's own.
        Err(error) => match error.try_into_panic() {
            Ok(payload) => Outcome::Panicked(Panic::new(payload)),
            Err(error) => {
                Outcome::NotClaimed(InboxError::with_source(InboxErrorKind::Unavailable, error))
            }
        },
    }
}
