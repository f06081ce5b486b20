//! What SQLite's failures mean to a caller of the store.

use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::store::StoreError;

/// Whether the failure is one of the place the database lives in, and may pass: another process
/// holds it, the disk is full or broken, memory is short.
fn may_pass(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly
                | ErrorCode::OutOfMemory
                | ErrorCode::FileLockingProtocolFailed
        )
    )
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        if may_pass(&error) {
            Self::Unavailable(Some(Box::new(error)))
        } else {
            Self::Internal(Box::new(error))
        }
    }
}

/// The store is closed.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable(None)
}

/// Why a transaction, with every write in it, is gone.
#[derive(Debug, thiserror::Error)]
pub(super) enum Lost {
    /// SQLite could not begin or commit it.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// One write failed so badly, of a full disk for example, that SQLite undid all of them.
    #[error("{0}")]
    Undone(String),
}

/// One lost transaction, told to every write that was in it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the transaction was not committed")]
pub(super) struct NotCommitted(#[source] Arc<Lost>);

impl NotCommitted {
    pub(super) fn new(lost: Lost) -> Self {
        Self(Arc::new(lost))
    }
}

impl From<NotCommitted> for StoreError {
    fn from(error: NotCommitted) -> Self {
        Self::Unavailable(Some(Box::new(error)))
    }
}

/// A write panicked; it was undone, and its neighbours were not.
#[derive(Debug, thiserror::Error)]
#[error("the write panicked and was undone")]
pub(super) struct Panicked;
