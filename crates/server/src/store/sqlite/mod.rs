//! The embedded store: one SQLite file (or one database in memory), one thread that writes, a pool
//! of connections that read.
//!
//! | Question | File |
//! |---|---|
//! | where is it, what is refused, which settings | `open`, `lock`, `schema` |
//! | what it is made of | `store` |
//! | what each call becomes | `calls` |
//! | how a write gets committed | `writer`, `job`, `submit` |
//! | how a read gets a connection | `readers`, `turns` |
//! | when the log is emptied | `checkpoint` |
//! | how a backup is made | `backup` |
//! | may a submission come in at all | `intake` |
//! | the statements | `users`, `accounts`, `forms`, `accept`, `submissions`, `repeats`, `spam`, `staged`, `removals`, `prune` |
//! | how all of it is read or written, to copy it | `copy` |
//! | of webhooks | `endpoints`, `queue`, `due`, `claims`, `settle`, `unreadable`, `deliveries` |
//!
//! Writes that wait at the same time share one transaction and one fsync; each has a savepoint of
//! its own, and is answered after the commit. Several processes may have the file open: a command
//! that makes a key runs beside the server.

mod accept;
mod accounts;
mod answers;
mod backup;
mod calls;
mod checkpoint;
mod claims;
mod columns;
mod copy;
mod deliveries;
mod due;
mod endpoint_changes;
mod endpoints;
mod fault;
mod forms;
mod intake;
mod job;
mod leases;
mod lock;
mod open;
mod open_error;
mod prune;
mod queue;
mod readers;
mod removals;
mod repeats;
mod schema;
mod settle;
#[cfg(feature = "fault-points")]
mod shortage;
mod spam;
mod staged;
mod store;
mod submissions;
mod submit;
mod turns;
mod unreadable;
mod users;
mod writer;

pub use backup::{BackupError, BackupReport, backup};
pub(crate) use copy::SqliteSide;
pub use lock::server_runs;
pub use open_error::OpenError;
pub use store::{PAGE_CACHE_DEFAULT, SqliteStore, WriteStats};

#[cfg(test)]
mod tests;
