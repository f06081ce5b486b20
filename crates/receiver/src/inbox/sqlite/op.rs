//! One thing asked of the writer, and its answer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::fault::closed;
use super::tx::Tx;
use crate::inbox::error::Shared;
use crate::inbox::{ClaimToken, InboxError};

/// What waits for its answer.
pub(super) type Answer<T> = oneshot::Receiver<Told<T>>;

/// An answer, and those of others in the same commit whom the first of them may tell.
pub(super) struct Told<T> {
    pub(super) own: Result<T, InboxError>,
    pub(super) others: Option<Arc<Others>>,
}

/// Operations of one commit that are not answered yet. The writer answers one and lets go of its processor for
/// a moment: to wake a runtime from outside, once for each, costs as much as to write a mark, and who was
/// answered wakes the others from within. Whom nobody has told by then, the writer tells.
pub(super) struct Others {
    ops: Mutex<Vec<Box<dyn Op>>>,
    committed: Result<(), Shared>,
}

impl Others {
    pub(super) fn new(ops: Vec<Box<dyn Op>>, committed: Result<(), Shared>) -> Arc<Self> {
        Arc::new(Self { ops: Mutex::new(ops), committed })
    }

    /// Answers those who were not. Gives the claims of those who had gone.
    pub(super) fn tell(&self) -> Vec<ClaimToken> {
        let ops = std::mem::take(&mut *self.ops.lock().unwrap_or_else(PoisonError::into_inner));
        ops.into_iter().filter_map(|op| answer(op, self.committed.clone(), None)).collect()
    }
}

/// Answers one. An answer wakes a task of the caller's, whose waker is not ours to trust.
pub(super) fn answer(
    op: Box<dyn Op>,
    committed: Result<(), Shared>,
    others: Option<Arc<Others>>,
) -> Option<ClaimToken> {
    catch_unwind(AssertUnwindSafe(|| op.answer(committed, others))).unwrap_or_default()
}

/// Something to do within a transaction, and to answer once that is committed.
pub(super) trait Op: Send {
    /// Does it. The time is milliseconds since 1970.
    fn run(&mut self, tx: &Tx<'_>, now: i64) -> rusqlite::Result<()>;

    /// Answers. Gives what was claimed for somebody who has gone.
    fn answer(
        self: Box<Self>,
        committed: Result<(), Shared>,
        others: Option<Arc<Others>>,
    ) -> Option<ClaimToken>;
}

/// An answer that may hold a claim.
pub(super) trait MayClaim {
    fn claimed(&self) -> Option<ClaimToken>;
}

struct Asked<T, F> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<Told<T>>,
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

    fn answer(
        self: Box<Self>,
        committed: Result<(), Shared>,
        others: Option<Arc<Others>>,
    ) -> Option<ClaimToken> {
        let own = match committed {
            Ok(()) => self.done.ok_or_else(closed),
            Err(lost) => Err(lost.into()),
        };
        // Whoever asked may have gone.
        self.reply.send(Told { own, others }).err()?.own.ok()?.claimed()
    }
}
