//! Tests of the engine from outside.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint spares tests alone")]

mod csv;
mod destination;
mod export;
mod json;
mod limited;
mod parquet;
#[cfg(unix)]
#[expect(dead_code, reason = "tests of other crates use the rest")]
#[path = "../../../receiver/tests/it/postgres_cluster.rs"]
mod postgres_cluster;
mod pull;
mod readers;
mod render;
mod spoiled;
mod sqlite;
mod support;
#[cfg(unix)]
mod sync;
