//! The inbox in PostgreSQL, for any number of receivers.
//!
//! Times are those of the database. Each operation is one statement, and so atomic: a statement that
//! changes a key waits for the row's lock and then checks the row again.

mod error;
mod inbox;
mod marks;
mod names;
mod schema;
mod statements;
mod take_result;

pub use self::inbox::{PostgresInbox, PostgresInboxBuilder};
pub use self::marks::PostgresMarks;
