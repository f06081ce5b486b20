//! The inbox in a SQLite file, for the processes of one machine.
//!
//! Every operation is durable when it returns. One thread has the connection; operations that arrive
//! during a commit share the next transaction.

mod error;
mod file;
mod inbox;
mod marks;
mod schema;
mod tables;
mod writer;

pub use self::inbox::{SqliteInbox, SqliteInboxBuilder};
pub use self::marks::SqliteMarks;
