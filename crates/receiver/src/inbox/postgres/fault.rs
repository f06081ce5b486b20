//! What PostgreSQL's failures mean to a caller.

use std::error::Error;

use deadpool_postgres::PoolError;

use crate::inbox::{InboxError, InboxErrorKind};

/// Classes of codes that may pass: 08 connection, 25 transaction state (a server that only reads), 40 rolled
/// back, 53 resources, 55 not in the state (a lock), 57 an operator intervened, 58 the system.
const MAY_PASS: [&str; 7] = ["08", "25", "40", "53", "55", "57", "58"];

impl From<tokio_postgres::Error> for InboxError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(code) = error.code().map(|code| code.code().to_owned()) else {
            // No answer at all: the connection is gone. What it answered and we could not read is a fault.
            let gone = error.is_closed() || has_io_source(&error);
            let kind = if gone { InboxErrorKind::Unavailable } else { InboxErrorKind::Internal };
            return Self::with_source(kind, error);
        };
        let may_pass = MAY_PASS.iter().any(|class| code.starts_with(class));
        let kind = if may_pass { InboxErrorKind::Unavailable } else { InboxErrorKind::Internal };
        // The code alone: its details may quote rows.
        Self::with_source(kind, format!("the database answered with SQLSTATE `{code}`"))
    }
}

fn has_io_source(error: &tokio_postgres::Error) -> bool {
    let mut cause = error.source();
    while let Some(error) = cause {
        if error.is::<std::io::Error>() {
            return true;
        }
        cause = error.source();
    }
    false
}

impl From<PoolError> for InboxError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => error.into(),
            PoolError::NoRuntimeSpecified => Self::with_source(InboxErrorKind::Setup, error),
            error => Self::with_source(InboxErrorKind::Unavailable, error),
        }
    }
}
