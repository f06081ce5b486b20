//! Inboxes: a contract for all stores, and the properties of each.

mod contract;
mod memory;
mod postgres;
mod sqlite;
