//! The inbox in a SQLite file, for the processes of one machine.
//!
//! Every operation is one transaction that is synchronized to the disk. One connection, used by one
//! operation at a time on a thread for blocking work.

mod error;
mod file;
mod inbox;
mod marks;
mod schema;
mod tables;

pub use self::inbox::{SqliteInbox, SqliteInboxBuilder};
pub use self::marks::SqliteMarks;
