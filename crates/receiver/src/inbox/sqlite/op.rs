//! One thing asked of the writer, and its answer.

use tokio::sync::oneshot;

use super::fault::closed;
use super::tx::Tx;
use crate::inbox::error::Shared;
use crate::inbox::{ClaimToken, InboxError};

/// What waits for its answer.
pub(super) type Answer<T> = oneshot::Receiver<Result<T, InboxError>>;

/// Something to do within a transaction, and to answer once that is committed.
pub(super) trait Op: Send {
    /// Does it. The time is milliseconds since 1970.
    fn run(&mut self, tx: &Tx<'_>, now: i64) -> rusqlite::Result<()>;

    /// Answers. Gives what was claimed for somebody who has gone.
    fn answer(self: Box<Self>, committed: Result<(), Shared>) -> Option<ClaimToken>;
}

/// An answer that may hold a claim.
pub(super) trait MayClaim {
    fn claimed(&self) -> Option<ClaimToken>;
}

struct Asked<T, F> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<Result<T, InboxError>>,
}

/// An operation from what it does, and what waits for its answer.
pub(super) fn op<T, F>(work: F) -> (Box<dyn Op>, Answer<T>)
where
    T: MayClaim + Send + 'static,
    F: FnMut(&Tx<'_>, i64) -> rusqlite::Result<T> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (Box::new(Asked { work, done: None, reply }), answer)
}

impl<T, F> Op for Asked<T, F>
where
    T: MayClaim + Send,
    F: FnMut(&Tx<'_>, i64) -> rusqlite::Result<T> + Send,
{
    fn run(&mut self, tx: &Tx<'_>, now: i64) -> rusqlite::Result<()> {
        self.done = Some((self.work)(tx, now)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), Shared>) -> Option<ClaimToken> {
        let answer = match committed {
            Ok(()) => self.done.ok_or_else(closed),
            Err(lost) => Err(lost.into()),
        };
        // Whoever asked may have gone.
        self.reply.send(answer).err()?.ok()?.claimed()
    }
}
