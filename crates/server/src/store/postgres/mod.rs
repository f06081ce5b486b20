//! The store on PostgreSQL, for when one machine is outgrown: any number of processes share a database.
//!
//! | Question | File |
//! |---|---|
//! | what it is made of, and each call of it | `store`, `calls` |
//! | where is it, how long may it take | `address`, `connect`, `tls`, `schema`, `time` |
//! | how long an answer is waited for | `lent` |
//! | how a submission gets committed | `submitter`, `accept`, `repeats` |
//! | how processes tell each other of work | `notify`, `tell` |
//! | how requests are counted, for all processes | `limits` |
//! | the statements | `users`, `accounts`, `forms`, `pages`, `spam`, `staged`, `removals`, `prune` |
//! | how all of it is read or written, to copy it | `copy` |
//! | of webhooks | `endpoints`, `due`, `claims`, `settle`, `deliveries` |
//! | what failures mean | `fault`, `open_error` |
//!
//! Submissions that wait at the same time share one transaction of two round trips, of which the first goes with
//! the commit of the transaction before where they wait by then; other writes have a
//! transaction of their own, in a task that nobody cancels. Times that matter are the database's, the one
//! clock that all processes share.

mod accept;
mod accounts;
mod address;
mod calls;
mod claims;
mod connect;
mod copy;
mod deliveries;
mod due;
mod endpoints;
mod fault;
mod forms;
mod lent;
mod notify;
mod open_error;
mod pages;
mod prune;
mod removals;
mod repeats;
mod requests;
mod rows;
mod schema;
mod settle;
mod spam;
mod staged;
mod store;
mod submitter;
mod tell;
mod time;
mod tls;
mod turns;
mod users;

pub(crate) use copy::PostgresSide;
pub use open_error::OpenError;
pub use store::{PostgresOptions, PostgresStore};
