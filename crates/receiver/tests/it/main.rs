//! Tests of the public API.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint exempts only tests")]

mod axum_extractor;
mod bodies;
mod event;
mod inbox;
mod postgres_cluster;
mod process;
mod sockets;
mod stripe;
mod support;
mod tower_layer;
mod vectors;
mod verifier;
