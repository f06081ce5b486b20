//! Tests of the crate from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint exempts only tests")]

mod plan;
