//! Forms in a PostgreSQL database, or in one that speaks its protocol.
//!
//! Each transaction sets its own `search_path`, and no prepared statement outlives its transaction, so that
//! a pooler in transaction mode can be between this process and the database.

/// Values of a statement with their types.
macro_rules! typed {
    ($($value:expr => $type:ident),*) => {
        &[$((
            &$value as &(dyn tokio_postgres::types::ToSql + Sync),
            tokio_postgres::types::Type::$type,
        )),*]
    };
}

mod address;
mod connect;
mod form;
mod page;
mod passwords;
mod read;
mod session;
mod tables;
mod tls;
mod trust;
mod view;

pub(crate) use address::Address;
pub(crate) use form::PgForm;
pub(crate) use read::{copy_rows, read_status};
