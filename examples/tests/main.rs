//! Runs the example programs against the reference service.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic; the lint exempts only tests")]
#![cfg(unix)]

mod client;
mod kill;
// The same proxies and PostgreSQL servers as the tests of the client and of the receiver.
#[path = "../../crates/client/tests/it/support/net.rs"]
#[expect(dead_code, reason = "only a part is used here")]
mod net;
#[path = "../../crates/receiver/tests/it/postgres_cluster.rs"]
#[expect(dead_code, reason = "only a part is used here")]
mod postgres_cluster;
mod receiver;
mod sandbox;
