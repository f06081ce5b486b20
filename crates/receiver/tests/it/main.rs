//! What the crate promises, seen from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod inbox;
mod process;
mod support;
mod verifier;
