//! Webhook deliveries and public forms when things fail, with a ledger of what was accepted and one of
//! what arrived.

mod backlog;
mod client_gone;
mod disk_full;
mod hostile_endpoints;
mod kill;
mod ledgers;
mod shutdown;
