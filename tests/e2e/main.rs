//! Tests of the whole.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod browser;
// Processes are killed and told to stop as Unix has it.
#[cfg(unix)]
mod deliveries;
mod service;
mod tree;
