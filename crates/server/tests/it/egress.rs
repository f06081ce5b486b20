//! Deliveries over sockets: what goes out, to whom, and what comes of hostile endpoints.

mod deadline;
mod guard;
mod hostile;
mod receiver;
mod request;
mod tls;
#[cfg(target_os = "linux")]
mod without_ipv6;
