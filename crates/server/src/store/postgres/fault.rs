//! What PostgreSQL's failures mean to a caller of the store.

use deadpool_postgres::PoolError;
use tokio_postgres::error::SqlState;

use crate::causes::causes;
use crate::store::StoreError;

/// Whether the failure is one of the database's place or state, and may pass: it cannot be reached, is
/// starting or stopping, has no room or no connection left, or took too long.
fn may_pass(error: &tokio_postgres::Error) -> bool {
    let Some(code) = error.code() else {
        // No answer at all: the connection is gone. What it answered and we could not read is a fault.
        return error.is_closed() || has_io_source(error);
    };
    // Classes 08 connection, 25 transaction state (a server that only reads), 40 rolled back,
    // 53 resources, 55 not in the state (a lock), 57 an operator intervened, 58 the system.
    ["08", "25", "40", "53", "55", "57", "58"].iter().any(|class| code.code().starts_with(class))
}

fn has_io_source(error: &tokio_postgres::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether the transaction was rolled back because others stood in its way, and would succeed alone.
pub(super) fn is_conflict(error: &StoreError) -> bool {
    let codes = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
    code_of(error).is_some_and(|code| codes.contains(code))
}

/// Whether a value was refused, rather than the whole transaction.
pub(super) fn is_of_the_data(error: &StoreError) -> bool {
    code_of(error)
        .is_some_and(|code| ["22", "23"].iter().any(|class| code.code().starts_with(class)))
}

/// Whether the database asks for a password that nobody gave us. The client library says so in words only.
pub(super) fn lacks_password(error: &StoreError) -> bool {
    causes(error).any(|cause| cause == "password missing")
}

pub(super) fn code_of(error: &StoreError) -> Option<&SqlState> {
    let (StoreError::Unavailable(Some(source)) | StoreError::Internal(source)) = error else {
        return None;
    };
    source.downcast_ref::<tokio_postgres::Error>()?.code()
}

impl From<tokio_postgres::Error> for StoreError {
    fn from(error: tokio_postgres::Error) -> Self {
        if may_pass(&error) {
            Self::Unavailable(Some(Box::new(error)))
        } else {
            Self::Internal(Box::new(error))
        }
    }
}

impl From<PoolError> for StoreError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            PoolError::Closed => closed(),
            error => Self::Unavailable(Some(Box::new(error))),
        }
    }
}

/// The store is closed.
pub(super) fn closed() -> StoreError {
    StoreError::Unavailable(None)
}
