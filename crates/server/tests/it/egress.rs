//! Deliveries over sockets: what goes out, to whom, and what comes of hostile endpoints.

mod receiver;
mod request;
