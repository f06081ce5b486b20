//! Webhook deliveries and public forms under failures. A ledger of accepted submissions is compared with a
//! ledger of arrived deliveries.

mod backlog;
mod client_gone;
mod disk_full;
mod hostile_endpoints;
mod kill;
mod ledgers;
mod shutdown;
