//! The SQLite store keeps the store contract, on a file and in memory.

mod backup;
mod deliveries;
mod model;
mod postgres;
mod queue;
mod sqlite;

use std::sync::Arc;

use formsvc_server::store::Clock;
use formsvc_server::store::contract::Fresh;
use formsvc_server::store::sqlite::SqliteStore;
use futures_util::future::BoxFuture;

fn on_a_file(clock: Clock) -> BoxFuture<'static, Fresh> {
    Box::pin(async {
        let dir = tempfile::tempdir().unwrap();
        let store = SqliteStore::open_exclusive(&dir.path().join("formsvc.db"), clock).unwrap();
        Fresh { store: Arc::new(store), keep: Box::new(dir) }
    })
}

fn in_memory(clock: Clock) -> BoxFuture<'static, Fresh> {
    Box::pin(async {
        let store = SqliteStore::in_memory(clock).unwrap();
        Fresh { store: Arc::new(store), keep: Box::new(()) }
    })
}

formsvc_server::store_contract!(sqlite_file, on_a_file);
formsvc_server::store_contract!(sqlite_memory, in_memory);
