//! Tests of the checks over real sockets.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod api;
mod receivers;
mod runner;
mod send;
mod sender;
