//! Submissions in their transaction: together, and each by itself when one of them fails halfway.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::accept::Accepting;
use super::fault::{Lost, NotCommitted, Panicked};
use crate::causes::on_one_line;
use crate::store::{Accepted, Clock, EndpointNo, NewSubmission, StoreError};

/// A submission that waits to be accepted.
pub(super) struct Submit {
    new: NewSubmission,
    outcome: Option<Result<Accepted, StoreError>>,
    reply: oneshot::Sender<Result<Accepted, StoreError>>,
}

impl Submit {
    pub(super) fn new(
        new: NewSubmission,
        reply: oneshot::Sender<Result<Accepted, StoreError>>,
    ) -> Self {
        Self { new, outcome: None, reply }
    }

    /// Answers the caller, who may have gone.
    pub(super) fn answer(self, committed: Result<(), NotCommitted>) {
        let outcome = match (committed, self.outcome) {
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Internal(Box::new(Panicked))),
        };
        let _ = self.reply.send(outcome);
    }
}

/// Accepts submissions inside the open transaction, keeps their outcomes, and says which endpoints got
/// deliveries.
///
/// Nearly always one savepoint is enough for all. What is refused before anything of it was written
/// needs none; when something fails later, all are undone, and accepted one by one.
pub(super) fn together(
    db: &Connection,
    clock: &Clock,
    submits: &mut [Submit],
) -> Result<Vec<EndpointNo>, Lost> {
    let run = |sql| db.prepare_cached(sql)?.execute([]).map(drop);
    run("SAVEPOINT submits")?;
    let failed = match accept_all(db, clock, submits) {
        Ok(endpoints) => {
            run("RELEASE submits")?;
            return Ok(endpoints);
        }
        Err(failed) => failed,
    };
    if db.is_autocommit() {
        return Err(Lost::Undone(on_one_line(&failed)));
    }
    run("ROLLBACK TO submits")?;
    run("RELEASE submits")?;
    if let [one] = submits {
        one.outcome = Some(Err(failed));
        return Ok(Vec::new());
    }
    let mut endpoints = Vec::new();
    for one in submits {
        endpoints.extend(together(db, clock, slice::from_mut(one))?);
    }
    Ok(endpoints)
}

/// Whether a refusal may be none: what failed was the database, which may have undone more than that.
fn is_of_the_database(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_) | StoreError::Internal(_))
}

/// Fails when one of them did with something of it written, or panicked.
fn accept_all(
    db: &Connection,
    clock: &Clock,
    submits: &mut [Submit],
) -> Result<Vec<EndpointNo>, StoreError> {
    let mut accepting = Accepting::new(db)?;
    for submit in submits {
        let before = db.total_changes();
        let accept = AssertUnwindSafe(|| accepting.accept(&submit.new, clock()));
        let outcome = catch_unwind(accept).map_err(|_| StoreError::Internal(Box::new(Panicked)))?;
        match outcome {
            Err(error) if is_of_the_database(&error) || db.total_changes() != before => {
                return Err(error);
            }
            outcome => submit.outcome = Some(outcome),
        }
    }
    accepting.finish()
}
