//! What receivers in many languages are found to do.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod receivers;
mod runner;
mod send;
