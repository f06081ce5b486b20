//! Tests of the whole.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod service;
mod tree;
