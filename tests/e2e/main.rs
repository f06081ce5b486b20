//! End-to-end tests of all crates together.

#![expect(
    clippy::unwrap_used,
    reason = "test helpers may panic; the lint allows it only in test functions"
)]

mod browser;
// These tests need Unix signals.
#[cfg(unix)]
mod deliveries;
mod service;
mod tree;
