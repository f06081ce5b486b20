//! The inbox in PostgreSQL.

mod durability;
mod marks;
mod open;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use formsvc_receiver::inbox::PostgresInbox;

use super::contract::{TestStore, inbox_contract, queue_contract};
use crate::postgres_cluster::Cluster;

async fn open_inbox(pool: &Pool) -> PostgresInbox {
    let ttl = Duration::from_secs(86_400);
    PostgresInbox::builder(pool.clone()).ttl(ttl).open().await.unwrap()
}

async fn empty_store() -> Option<TestStore> {
    let pool = Cluster::shared()?.new_schema().await;
    let inbox = Arc::new(open_inbox(&pool).await);
    let second = Arc::new(open_inbox(&pool).await);
    let other_scope = Arc::new(inbox.scope("other").unwrap());
    Some(TestStore {
        queues: Some([inbox.clone(), second.clone(), other_scope.clone()]),
        inbox,
        second,
        other_scope,
        advance: Box::new(move |time| Box::pin(advance(pool.clone(), time))),
        _directory: None,
    })
}

/// Moves all stored times back, because the database's clock cannot be advanced.
async fn advance(pool: Pool, time: Duration) {
    let sql = format!(
        "UPDATE formsvc_inbox SET until = until - interval '{0} milliseconds';
         UPDATE formsvc_inbox_queue SET due = due - interval '{0} milliseconds'",
        time.as_millis()
    );
    pool.get().await.unwrap().batch_execute(&sql).await.unwrap();
}

inbox_contract!(empty_store);
queue_contract!(empty_store);
