//! Forms in a PostgreSQL database, or in one that speaks its protocol.
//!
//! No statement relies on `search_path`, and no prepared statement outlives its transaction, so that
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
mod error;
mod form;
mod page_writer;
mod passwords;
mod schema;
mod store;
mod tls;
mod view;

pub(crate) use address::Address;
pub use error::PostgresError;
pub(crate) use form::PgForm;
pub(crate) use store::PgStore;

use super::names::quoted;
