//! The thread that executes the operations of an inbox, and commits those that wait together.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};
use tokio::sync::{mpsc, oneshot};

use super::error::{error_kind, inbox_error};
use crate::inbox::{InboxError, InboxErrorKind};

/// Operations that share a transaction at most, and that wait for the next one.
const BATCH_MAX: usize = 256;

/// Executes operations on a thread of its own, which ends with the last clone.
///
/// Operations that arrive during a commit share the next transaction, because a durable commit takes
/// many times as long as their statements.
#[derive(Clone, Debug)]
pub(super) struct Writer(mpsc::Sender<Box<dyn Operation>>);

impl Writer {
    pub(super) fn start(mut connection: Connection) -> io::Result<Self> {
        let (sender, mut operations) = mpsc::channel::<Box<dyn Operation>>(BATCH_MAX);
        let run = move || {
            while let Some(first) = operations.blocking_recv() {
                let mut batch = vec![first];
                while batch.len() < BATCH_MAX
                    && let Ok(next) = operations.try_recv()
                {
                    batch.push(next);
                }
                commit_together(&mut connection, batch);
            }
        };
        std::thread::Builder::new().name("formsvc-inbox".to_owned()).spawn(run)?;
        Ok(Self(sender))
    }

    /// Runs work in a transaction, and returns its result after the commit.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, InboxError> {
        let (caller, result) = oneshot::channel();
        let pending = Pending { work: Some(work), result: None, caller };
        let is_sent = self.0.send(Box::new(pending)).await.is_ok();
        let answer = if is_sent { result.await.ok() } else { None };
        // The thread ends only after a panic.
        answer.unwrap_or_else(|| Err(InboxErrorKind::Internal.into()))
    }
}

/// An operation with a caller that waits for the commit.
trait Operation: Send {
    /// Executes the statements. Stores the result.
    fn execute(&mut self, transaction: &mut Transaction<'_>);

    /// Answers the caller: with the operation's own error, else with that of the transaction.
    fn answer(self: Box<Self>, failure: Option<&Arc<rusqlite::Error>>);
}

struct Pending<T, W> {
    work: Option<W>,
    result: Option<Result<T, InboxError>>,
    caller: oneshot::Sender<Result<T, InboxError>>,
}

impl<T, W> Operation for Pending<T, W>
where
    T: Send,
    W: FnOnce(&Connection) -> rusqlite::Result<T> + Send,
{
    fn execute(&mut self, transaction: &mut Transaction<'_>) {
        if let Some(work) = self.work.take() {
            self.result = Some(in_savepoint(transaction, work).map_err(inbox_error));
        }
    }

    fn answer(self: Box<Self>, failure: Option<&Arc<rusqlite::Error>>) {
        let result = match (self.result, failure) {
            (Some(Err(error)), _) => Err(error),
            (_, Some(failure)) => {
                Err(InboxError::with_source(error_kind(failure), Arc::clone(failure)))
            }
            (Some(result), None) => result,
            // The clock panicked.
            (None, None) => Err(InboxErrorKind::Unavailable.into()),
        };
        // The caller may be gone.
        let _ = self.caller.send(result);
    }
}

/// Runs work of which nothing is left if it fails.
fn in_savepoint<T>(
    transaction: &mut Transaction<'_>,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let savepoint = transaction.savepoint()?;
    let result = work(&savepoint)?;
    savepoint.commit()?;
    Ok(result)
}

/// Executes operations in one transaction, commits it, and then answers their callers.
fn commit_together(connection: &mut Connection, mut operations: Vec<Box<dyn Operation>>) {
    let behavior = TransactionBehavior::Immediate;
    let committed = connection.transaction_with_behavior(behavior).and_then(|mut transaction| {
        for operation in &mut operations {
            // After a panic the savepoint is rolled back, and the operation has no result.
            let _ = catch_unwind(AssertUnwindSafe(|| operation.execute(&mut transaction)));
            // A full disk, for example, rolls back the whole transaction.
            if transaction.is_autocommit() {
                let rolled_back = ffi::Error::new(ffi::SQLITE_ABORT_ROLLBACK);
                return Err(rusqlite::Error::SqliteFailure(rolled_back, None));
            }
        }
        transaction.commit()
    });
    let failure = committed.err().map(Arc::new);
    for operation in operations {
        operation.answer(failure.as_ref());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Outcome = oneshot::Receiver<Result<(), InboxError>>;

    fn insert(row: i64, then: &'static str) -> (Box<dyn Operation>, Outcome) {
        let (caller, result) = oneshot::channel();
        let work = move |connection: &Connection| {
            connection.execute("INSERT INTO t VALUES (?1)", [row])?;
            connection.execute_batch(then)
        };
        (Box::new(Pending { work: Some(work), result: None, caller }), result)
    }

    /// Commits rows 1 to 3, each followed by its statement. Returns the kinds of errors, and the rows.
    fn commit(then: [&'static str; 3], busy: bool) -> (Vec<Option<InboxErrorKind>>, Vec<i64>) {
        let folder = tempfile::tempdir().unwrap();
        let open = || Connection::open(folder.path().join("t.db")).unwrap();
        let (mut connection, other) = (open(), open());
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        connection.execute_batch("CREATE TABLE t (row INTEGER)").unwrap();
        if busy {
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
        }
        let (operations, outcomes): (Vec<_>, Vec<_>) =
            (1..).zip(then).map(|(row, then)| insert(row, then)).unzip();
        commit_together(&mut connection, operations);
        let kinds = outcomes
            .into_iter()
            .map(|mut outcome| outcome.try_recv().unwrap().err().map(|error| error.kind()));
        let mut select = other.prepare("SELECT row FROM t ORDER BY row").unwrap();
        let rows = select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>();
        (kinds.collect(), rows.unwrap())
    }

    #[test]
    fn failed_operation_leaves_the_others_of_its_batch() {
        let (kinds, rows) = commit(["", "SELECT nothing", ""], false);
        assert_eq!(kinds, [None, Some(InboxErrorKind::Internal), None]);
        assert_eq!(rows, [1, 3]);
    }

    #[test]
    fn lost_transaction_fails_every_operation_of_its_batch() {
        let (kinds, rows) = commit(["", "ROLLBACK", ""], false);
        assert_eq!(kinds[0], Some(InboxErrorKind::Unavailable));
        assert!(kinds[1].is_some());
        assert_eq!(kinds[2], Some(InboxErrorKind::Unavailable));
        assert_eq!(rows, [0; 0]);
    }

    #[test]
    fn locked_database_fails_every_operation_of_its_batch() {
        let (kinds, rows) = commit(["", "", ""], true);
        assert_eq!(kinds, [Some(InboxErrorKind::Unavailable); 3]);
        assert_eq!(rows, [0; 0]);
    }
}
