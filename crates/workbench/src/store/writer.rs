//! The writer thread. The thread commits queued writes in one transaction, and reports success after the commit.

use std::sync::Arc;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot};

use super::prune::{self, Usage};
use super::{StoreError, StoreLimits, rows};
use crate::delivery::{CaptureNumber, Delivery};
use crate::warning::{Warning, WarningCode, WarningLimiter, with_causes};

/// Maximum number of queued commands, and of writes in one transaction.
pub(super) const QUEUE_LEN: usize = 256;
/// Maximum number of queued warnings. A store without a listener drops further warnings.
pub(super) const WARNINGS: usize = 16;

/// Work on the connection.
pub(super) type Work = Box<dyn FnOnce(&mut Connection) + Send>;

pub(super) enum Command {
    Write(Write),
    /// Runs after all earlier writes.
    Run(Work),
    /// Ends the thread after all earlier commands.
    Close,
}

pub(super) enum Write {
    Insert {
        delivery: Arc<Delivery>,
        reply: oneshot::Sender<Result<CaptureNumber, StoreError>>,
    },
    /// Sets the response and the forwards of a capture.
    Outcome {
        number: CaptureNumber,
        delivery: Arc<Delivery>,
    },
}

/// The state of the thread. Fields are dropped in order: the connection is closed before the queue. So when a sender
/// finds the queue closed, all writes are in the database.
pub(super) struct Writer {
    pub(super) db: Connection,
    pub(super) limits: StoreLimits,
    /// True if captures may exceed the limits, or free pages may be returned to the file system.
    pub(super) needs_prune: bool,
    pub(super) outcomes: WarningLimiter,
    pub(super) pruning: WarningLimiter,
    pub(super) warnings: mpsc::Sender<Warning>,
    pub(super) commands: mpsc::Receiver<Command>,
}

impl Writer {
    /// Runs commands until [`Command::Close`], or until all senders are dropped.
    pub(super) fn run(mut self) {
        let mut commands = Vec::with_capacity(QUEUE_LEN);
        loop {
            if self.needs_prune && self.commands.is_empty() {
                self.prune();
            } else if self.commands.blocking_recv_many(&mut commands, QUEUE_LEN) == 0 {
                return;
            }
            let mut writes = Vec::new();
            for command in commands.drain(..) {
                match command {
                    Command::Write(write) => writes.push(write),
                    Command::Run(work) => {
                        self.commit(std::mem::take(&mut writes));
                        work(&mut self.db);
                    }
                    Command::Close => return self.commit(writes),
                }
            }
            self.commit(writes);
        }
    }

    /// Removes captures over the limits. Called while no command waits.
    fn prune(&mut self) {
        self.needs_prune = match prune::step(&mut self.db, self.limits) {
            Ok(more) => {
                self.pruning.record_success();
                more
            }
            Err(error) => {
                if self.pruning.record_failure() {
                    let failed = "cannot remove captures over the limits";
                    self.warn(WarningCode::NotPruned, failed, &error.into());
                }
                false
            }
        };
    }

    fn warn(&self, code: WarningCode, failed: &str, error: &StoreError) {
        let message = format!("{failed}: {}", with_causes(error));
        // In the log too, because a store without a listener has no reader of its warnings.
        tracing::warn!("{message}");
        // An error means that the queue is full or that the store was dropped.
        let _ = self.warnings.try_send(Warning { code, message });
    }

    fn commit(&mut self, writes: Vec<Write>) {
        if writes.is_empty() {
            return;
        }
        let results = match self.transact(&writes) {
            Ok(numbers) => numbers.into_iter().map(Ok).collect(),
            // Commit each write alone: there may be room for all but the largest deliveries.
            Err(StoreError::Full) if writes.len() > 1 => {
                let alone = writes.iter().map(|write| {
                    self.transact(std::slice::from_ref(write)).map(|numbers| numbers[0])
                });
                alone.collect()
            }
            Err(error) => vec![Err(error); writes.len()],
        };
        for (write, result) in writes.into_iter().zip(results) {
            match (write, result) {
                // Sending fails if the caller was dropped, which does not need the result.
                (Write::Insert { reply, .. }, result) => drop(reply.send(result)),
                (Write::Outcome { number, .. }, Err(error)) => {
                    if self.outcomes.record_failure() {
                        let failed = format!("cannot store the response to capture {number}");
                        self.warn(WarningCode::ResponseNotStored, &failed, &error);
                    }
                }
                (Write::Outcome { .. }, Ok(_)) => self.outcomes.record_success(),
            }
        }
    }

    /// Runs writes in one transaction. Returns the number of each capture.
    fn transact(&mut self, writes: &[Write]) -> Result<Vec<CaptureNumber>, StoreError> {
        let transaction = self.db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (mut numbers, mut removed) = (Vec::new(), false);
        for write in writes {
            let before = Usage::read(&transaction)?;
            numbers.push(match write {
                Write::Insert { delivery, .. } => rows::insert(&transaction, delivery)?,
                Write::Outcome { number, delivery } => {
                    rows::set_outcome(&transaction, *number, delivery)?;
                    *number
                }
            });
            let rows = prune::WRITE_ROWS;
            removed |= prune::remove_excess(&transaction, self.limits, before, rows)?;
        }
        removed |= prune::remove_expired(&transaction, self.limits)?;
        transaction.commit()?;
        self.needs_prune |= removed;
        Ok(numbers)
    }
}
