//! Kinds of PostgreSQL errors.

use std::error::Error;

use deadpool_postgres::PoolError;

use crate::inbox::{InboxError, InboxErrorKind};

/// SQLSTATE classes after which a retry may succeed: 08 connection, 25 transaction state (a read-only
/// server), 40 rollback, 53 resources, 55 object state (a lock), 57 operator intervention, 58 system.
const TRANSIENT_CLASSES: [&str; 7] = ["08", "25", "40", "53", "55", "57", "58"];

pub(super) fn inbox_error(error: tokio_postgres::Error) -> InboxError {
    let Some(code) = error.code().map(|code| code.code().to_owned()) else {
        let is_disconnected = error.is_closed() || has_io_cause(&error);
        return InboxError::with_source(kind(is_disconnected), error);
    };
    let is_transient = TRANSIENT_CLASSES.iter().any(|class| code.starts_with(class));
    // Only the code: the message of the database can contain values of the row.
    InboxError::with_source(kind(is_transient), format!("PostgreSQL reported SQLSTATE {code}"))
}

fn kind(is_transient: bool) -> InboxErrorKind {
    if is_transient { InboxErrorKind::Unavailable } else { InboxErrorKind::Internal }
}

fn has_io_cause(error: &tokio_postgres::Error) -> bool {
    std::iter::successors(error.source(), |error| (*error).source())
        .any(<dyn Error>::is::<std::io::Error>)
}

pub(super) fn pool_error(error: PoolError) -> InboxError {
    match error {
        PoolError::Backend(error) => inbox_error(error),
        PoolError::NoRuntimeSpecified => InboxError::config(error),
        error => InboxError::with_source(InboxErrorKind::Unavailable, error),
    }
}
