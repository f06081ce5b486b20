//! Inboxes: one contract that each store keeps, and what each promises beyond it.

mod contract;
mod memory;
mod postgres;
mod sqlite;
