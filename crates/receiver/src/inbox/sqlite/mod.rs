//! An inbox in a SQLite file, for the processes of one machine.
//!
//! One thread writes. It takes what waits and commits it together, in two transactions: first what may be
//! lost with the machine's power (claims, extensions, releases: a claim that is lost is released, which is
//! what should become of it), without waiting for the disk; then what may not (marks, accepted deliveries),
//! and waits for the disk once for all of it. So a delivery that is handled waits for the disk once.

mod fault;
mod file;
mod inbox;
mod marks;
mod op;
mod schema;
mod tables;
mod tx;
mod writer;

pub use inbox::{SqliteInbox, SqliteInboxBuilder};
pub use marks::SqliteMarks;
