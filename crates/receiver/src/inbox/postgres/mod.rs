//! An inbox in PostgreSQL, for any number of receivers.
//!
//! The database's clock is the only one. Each operation is one statement, which PostgreSQL carries out or
//! not: a row of the table of keys is changed by who holds its lock, and everybody else looks again.

mod alone;
mod answer;
mod fault;
mod inbox;
mod marks;
mod names;
mod schema;
mod sql;
mod task;

pub use inbox::{PostgresInbox, PostgresInboxBuilder};
pub use marks::PostgresMarks;
