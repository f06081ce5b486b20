//! Kinds of SQLite errors.

use rusqlite::ErrorCode;

use crate::inbox::{InboxError, InboxErrorKind};

pub(super) fn inbox_error(error: rusqlite::Error) -> InboxError {
    InboxError::with_source(error_kind(&error), error)
}

pub(super) fn error_kind(error: &rusqlite::Error) -> InboxErrorKind {
    match error.sqlite_error_code() {
        // Another process has the lock, the disk is full or broken, or memory is short.
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationAborted
            | ErrorCode::FileLockingProtocolFailed,
        ) => InboxErrorKind::Unavailable,
        Some(ErrorCode::NotADatabase) => InboxErrorKind::InvalidConfig,
        _ => InboxErrorKind::Internal,
    }
}
