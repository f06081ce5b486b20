//! Operations that come to their end, whoever waits for it.

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::PostgresInbox;
use crate::inbox::{Claim, ClaimToken, InboxError, InboxErrorKind, Pending};

/// An answer that may hold a claim.
pub(super) trait MayClaim: Send + 'static {
    fn claimed(&self) -> Option<&ClaimToken>;
}

impl MayClaim for () {
    fn claimed(&self) -> Option<&ClaimToken> {
        None
    }
}

impl MayClaim for Claim {
    fn claimed(&self) -> Option<&ClaimToken> {
        match self {
            Self::Acquired(token) => Some(token),
            Self::Duplicate | Self::InFlight { .. } => None,
        }
    }
}

impl MayClaim for Option<Pending> {
    fn claimed(&self) -> Option<&ClaimToken> {
        self.as_ref().map(|pending| &pending.token)
    }
}

/// Runs work in a task of its own. Once begun it ends, though the future that waits for it is dropped; what was
/// claimed for somebody who has gone is given back. Outside of a runtime there is no task, and a lease that
/// nobody has runs out.
pub(super) async fn in_task<T: MayClaim>(
    inbox: &PostgresInbox,
    work: impl Future<Output = Result<T, InboxError>> + Send + 'static,
) -> Result<T, InboxError> {
    let Ok(runtime) = Handle::try_current() else { return work.await };
    let (reply, answer) = oneshot::channel();
    let theirs = inbox.clone();
    runtime.spawn(async move {
        if let Err(Ok(unheard)) = reply.send(work.await)
            && let Some(token) = unheard.claimed()
        {
            theirs.give_back(token).await;
        }
    });
    let mut waiting = Waiting { inbox, runtime, answer };
    let ended = "the runtime was shut down";
    (&mut waiting.answer)
        .await
        .unwrap_or_else(|_| Err(InboxError::with_source(InboxErrorKind::Unavailable, ended)))
}

/// Somebody who waits for an answer, and may go.
struct Waiting<'a, T: MayClaim> {
    inbox: &'a PostgresInbox,
    runtime: Handle,
    answer: oneshot::Receiver<Result<T, InboxError>>,
}

impl<T: MayClaim> Drop for Waiting<'_, T> {
    fn drop(&mut self) {
        // From here on the task sees that nobody is there; what it answered before is here.
        self.answer.close();
        if let Ok(Ok(unheard)) = self.answer.try_recv()
            && let Some(token) = unheard.claimed().cloned()
        {
            let inbox = self.inbox.clone();
            self.runtime.spawn(async move { inbox.give_back(&token).await });
        }
    }
}
