//! What SQLite's failures mean to a caller.

use std::sync::Arc;

use rusqlite::ErrorCode;

use crate::inbox::error::Shared;
use crate::inbox::{InboxError, InboxErrorKind};

/// Whether the failure is one of the file's place, and may pass: another process holds it, the disk is full
/// or broken, memory is short.
fn kind_of(error: &rusqlite::Error) -> InboxErrorKind {
    match error.sqlite_error_code() {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::OutOfMemory
            | ErrorCode::FileLockingProtocolFailed,
        ) => InboxErrorKind::Unavailable,
        _ => InboxErrorKind::Internal,
    }
}

impl From<rusqlite::Error> for InboxError {
    fn from(error: rusqlite::Error) -> Self {
        Self::with_source(kind_of(&error), error)
    }
}

impl From<rusqlite::Error> for Shared {
    fn from(error: rusqlite::Error) -> Self {
        Self { kind: kind_of(&error), source: Arc::new(error) }
    }
}

/// The writer has ended.
pub(super) fn closed() -> InboxError {
    InboxError::with_source(InboxErrorKind::Unavailable, "the thread that writes has ended")
}
