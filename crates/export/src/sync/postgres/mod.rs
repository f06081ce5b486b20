//! Forms in a PostgreSQL database.

mod error;
mod passwords;
mod tls;

pub use error::PostgresError;
