//! Submissions in their transaction: together, and each by itself when one of them fails halfway.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::slice;
use std::sync::Arc;

use rusqlite::Connection;

use super::accept::Accepting;
use super::answers::{Others, Reply, Told};
use super::fault::{Lost, NotCommitted, Panicked};
use crate::causes::on_one_line;
use crate::store::{Accepted, Clock, EndpointNo, NewSubmission, StoreError};

/// A submission that waits to be accepted.
pub(super) struct Submit {
    new: NewSubmission,
    outcome: Option<Result<Accepted, StoreError>>,
    reply: Reply<Accepted>,
}

impl Submit {
    pub(super) fn new(new: NewSubmission, reply: Reply<Accepted>) -> Self {
        Self { new, outcome: None, reply }
    }

    /// Answers the caller, who may have gone, and may tell the others.
    pub(super) fn answer(self, committed: Result<(), NotCommitted>, others: Option<Arc<Others>>) {
        let outcome = match (committed, self.outcome) {
            (Err(error), _) => Err(error.into()),
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(StoreError::Internal(Box::new(Panicked))),
        };
        let _ = self.reply.send(Told::new(outcome, others));
    }
}

/// Accepts submissions at the front of the open transaction, keeps their outcomes, and says which
/// endpoints got deliveries.
///
/// A savepoint has SQLite copy each page before it changes. Nearly always nothing is undone, and there
/// is none: what is refused before anything of it was written needs none. When something fails later
/// the transaction begins again, and each submission has a savepoint of its own.
pub(super) fn together(
    db: &Connection,
    clock: &Clock,
    submits: &mut [Submit],
) -> Result<Vec<EndpointNo>, Lost> {
    let failed = match accept_all(db, clock, submits) {
        Ok(endpoints) => return Ok(endpoints),
        Err(failed) => failed,
    };
    still_open(db, &failed)?;
    run(db, "ROLLBACK")?;
    run(db, "BEGIN IMMEDIATE")?;
    let mut endpoints = Vec::new();
    for submit in submits {
        endpoints.extend(alone(db, clock, submit)?);
    }
    Ok(endpoints)
}

/// Accepts one submission, and undoes only what was written for that when it fails.
fn alone(db: &Connection, clock: &Clock, submit: &mut Submit) -> Result<Vec<EndpointNo>, Lost> {
    run(db, "SAVEPOINT submit")?;
    let accepted = accept_all(db, clock, slice::from_mut(submit));
    let endpoints = match accepted {
        Ok(endpoints) => endpoints,
        Err(failed) => {
            still_open(db, &failed)?;
            run(db, "ROLLBACK TO submit")?;
            submit.outcome = Some(Err(failed));
            Vec::new()
        }
    };
    run(db, "RELEASE submit")?;
    Ok(endpoints)
}

fn run(db: &Connection, sql: &str) -> Result<(), Lost> {
    db.prepare_cached(sql)?.execute([])?;
    Ok(())
}

/// Whether the transaction outlived a failure.
fn still_open(db: &Connection, failed: &StoreError) -> Result<(), Lost> {
    if db.is_autocommit() { Err(Lost::Undone(on_one_line(failed))) } else { Ok(()) }
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
