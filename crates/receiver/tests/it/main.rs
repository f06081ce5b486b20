//! What the crate promises, seen from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod bodies;
mod examples;
mod inbox;
mod layer;
mod process;
mod sockets;
mod stripe;
mod support;
mod vectors;
mod verifier;
mod webhook;
