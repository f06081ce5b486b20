//! The REST API, in process and over sockets.

mod authorization;
pub(crate) mod broken_store;
mod edge;
mod faults;
mod health;
mod large_responses;
pub(crate) mod logs;
mod metrics;
mod open_metrics;
mod paging;
mod parameters;
mod properties;
mod rate_limit;
mod service;
mod shutdown;
mod slow_clients;
mod wire;
