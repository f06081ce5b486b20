//! One write, waiting for its transaction.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::Connection;

use super::answers::{Others, Reply, Told};
use super::fault::{NotCommitted, Panicked};
use crate::causes::on_one_line;
use crate::store::StoreError;

/// A write with its type of answer erased.
pub(super) trait Job: Send {
    /// Does the work inside the open transaction and keeps the answer; an error says why what it
    /// wrote is to be undone. A panic counts as a refusal.
    fn run(&mut self, connection: &Connection) -> Result<(), String>;
    /// Answers the caller, who may have gone, and may tell the others.
    fn answer(self: Box<Self>, committed: Result<(), NotCommitted>, others: Option<Arc<Others>>);
}

struct Write<T, F> {
    work: Option<F>,
    outcome: Option<Result<T, StoreError>>,
    reply: Reply<T>,
}

/// A job from a piece of work.
pub(super) fn job<T, F>(work: F, reply: Reply<T>) -> Box<dyn Job>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
{
    Box::new(Write { work: Some(work), outcome: None, reply })
}

impl<T, F> Job for Write<T, F>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
{
    fn run(&mut self, connection: &Connection) -> Result<(), String> {
        let Some(work) = self.work.take() else { return Ok(()) };
        // The transaction's savepoint undoes whatever the work left half done.
        let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)))
            .unwrap_or_else(|_| Err(StoreError::Internal(Box::new(Panicked))));
        let refusal = outcome.as_ref().err().map(|error| on_one_line(error));
        self.outcome = Some(outcome);
        refusal.map_or(Ok(()), Err)
    }

    fn answer(self: Box<Self>, committed: Result<(), NotCommitted>, others: Option<Arc<Others>>) {
        let outcome = match (committed, self.outcome) {
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Internal(Box::new(Panicked))),
        };
        let _ = self.reply.send(Told::new(outcome, others));
    }
}
