//! The inbox in PostgreSQL.

mod cluster;
mod connections;
mod durability;
mod marks;
mod tables;

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use formsvc_receiver::inbox::PostgresInbox;

use super::contract::{World, inbox_contract, queue_contract};
use cluster::Cluster;

async fn open(pool: &Pool) -> PostgresInbox {
    let ttl = Duration::from_secs(86_400);
    PostgresInbox::builder(pool.clone()).ttl(ttl).open().await.unwrap()
}

async fn fresh() -> Option<World> {
    let pool = Cluster::or_skip()?.fresh_schema().await;
    let inbox = open(&pool).await;
    let elsewhere = Arc::new(open(&pool).await);
    let other_scope = Arc::new(inbox.scope("other").unwrap());
    let inbox = Arc::new(inbox);
    Some(World {
        queues: Some([inbox.clone(), elsewhere.clone(), other_scope.clone()]),
        inbox,
        elsewhere,
        other_scope,
        pass: Box::new(move |time| Box::pin(pass(pool.clone(), time))),
        _keep: Box::new(()),
    })
}

/// Lets time pass: the database's clock cannot be moved, so everything else is moved back.
async fn pass(pool: Pool, time: Duration) {
    let back = format!(
        "UPDATE formsvc_inbox SET until = until - interval '{0} milliseconds';
         UPDATE formsvc_inbox_queue SET due = due - interval '{0} milliseconds'",
        time.as_millis()
    );
    pool.get().await.unwrap().batch_execute(&back).await.unwrap();
}

inbox_contract!(fresh);
queue_contract!(fresh);
