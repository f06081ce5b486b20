//! Marks in a transaction of the caller.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, DedupeResult, Inbox, InboxError, InboxErrorKind, PostgresInbox,
    PostgresMarks,
};
use tokio::sync::Barrier;

use super::advance;
use crate::postgres_cluster::Cluster;

async fn new_database() -> Option<Pool> {
    let pool = Cluster::shared()?.new_schema().await;
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    PostgresMarks::new().create_tables(&tx).await.unwrap();
    tx.batch_execute("CREATE TABLE effects (key text)").await.unwrap();
    tx.commit().await.unwrap();
    Some(pool)
}

async fn count_effects(pool: &Pool) -> i64 {
    let client = pool.get().await.unwrap();
    client.query_one("SELECT count(*) FROM effects", &[]).await.unwrap().get(0)
}

async fn handle(pool: &Pool, key: &str) -> DedupeResult {
    handle_after(pool, key, std::future::ready(())).await.unwrap()
}

/// Handles a key in a transaction that waits for `start` before it marks the key.
async fn handle_after(
    pool: &Pool,
    key: &str,
    start: impl Future<Output = ()>,
) -> Result<DedupeResult, InboxError> {
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    start.await;
    let result = match PostgresMarks::new().mark(&tx, key).await {
        Ok(result) => result,
        Err(error) => {
            // Dropped, it would be rolled back later, and hold its lock until then.
            tx.rollback().await.unwrap();
            return Err(error);
        }
    };
    if result == DedupeResult::New {
        tx.execute("INSERT INTO effects VALUES ($1)", &[&key]).await.unwrap();
    }
    tx.commit().await.unwrap();
    Ok(result)
}

#[tokio::test]
async fn mark_by_its_sql_is_a_mark() {
    let Some(pool) = new_database().await else { return };
    let (marks, ttl) = (PostgresMarks::new(), 60_000_i64);
    let by_sql = async |key: &'static str| {
        let mut client = pool.get().await.unwrap();
        let tx = client.transaction().await.unwrap();
        let key = key.as_bytes();
        let lock = tx.query_one(marks.lock_sql(), &[&"default", &key]).await.unwrap();
        assert!(lock.get::<_, bool>(0));
        let row = tx.query_one(marks.mark_sql(), &[&"default", &key, &ttl]).await.unwrap();
        tx.commit().await.unwrap();
        (row.get::<_, Option<i64>>(0).is_some(), row.get::<_, Option<i16>>(1))
    };
    assert_eq!(by_sql("by sql").await, (true, None));
    assert_eq!(by_sql("by sql").await, (false, Some(2)));
    assert_eq!(handle(&pool, "by sql").await, DedupeResult::Duplicate);
    assert_eq!(handle(&pool, "other").await, DedupeResult::New);
    assert_eq!(by_sql("other").await, (false, Some(2)));
}

#[tokio::test]
async fn one_of_concurrent_transactions_has_its_effect() {
    let Some(pool) = new_database().await else { return };
    let start = Arc::new(Barrier::new(12));
    let handle_once = |_| {
        let (pool, start) = (pool.clone(), Arc::clone(&start));
        tokio::spawn(async move {
            let start = async {
                start.wait().await;
            };
            handle_after(&pool, "k", start).await
        })
    };
    let tasks: Vec<_> = (0..12).map(handle_once).collect();
    for task in tasks {
        if let Err(error) = task.await.unwrap() {
            assert_eq!(error.kind(), InboxErrorKind::InFlight);
        }
    }
    assert_eq!(count_effects(&pool).await, 1);
}

#[tokio::test]
async fn second_transaction_on_a_key_fails_at_once() {
    let Some(pool) = new_database().await else { return };
    let mut first = pool.get().await.unwrap();
    let tx = first.transaction().await.unwrap();
    assert_eq!(PostgresMarks::new().mark(&tx, "k").await.unwrap(), DedupeResult::New);
    assert_eq!(PostgresMarks::new().mark(&tx, "k").await.unwrap(), DedupeResult::Duplicate);
    let mut second = pool.get().await.unwrap();
    let other = second.transaction().await.unwrap();
    // A wait for the first transaction would be another error.
    other.batch_execute("SET LOCAL lock_timeout = 1000").await.unwrap();
    let error = PostgresMarks::new().mark(&other, "k").await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InFlight);
    other.rollback().await.unwrap();
    let Some(other_schema) = new_database().await else { return };
    assert_eq!(handle(&other_schema, "k").await, DedupeResult::New, "another table");
    tx.rollback().await.unwrap();
    assert_eq!(handle(&pool, "k").await, DedupeResult::New);
}

#[tokio::test]
async fn commit_of_a_mark_is_synchronous() {
    let Some(pool) = new_database().await else { return };
    let mut client = pool.get().await.unwrap();
    client.batch_execute("SET synchronous_commit = off").await.unwrap();
    let tx = client.transaction().await.unwrap();
    assert_eq!(PostgresMarks::new().mark(&tx, "k").await.unwrap(), DedupeResult::New);
    let setting = "SELECT current_setting('synchronous_commit')";
    assert_eq!(tx.query_one(setting, &[]).await.unwrap().get::<_, &str>(0), "on");
    tx.commit().await.unwrap();
    assert_eq!(client.query_one(setting, &[]).await.unwrap().get::<_, &str>(0), "off");
}

#[tokio::test]
async fn marks_have_scopes_and_expire() {
    let Some(pool) = new_database().await else { return };
    let marks = PostgresMarks::new();
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    for key in ["a", "b", "c"] {
        assert_eq!(marks.mark(&tx, key).await.unwrap(), DedupeResult::New);
    }
    let other = PostgresMarks::new().scope("other").unwrap();
    assert_eq!(other.mark(&tx, "a").await.unwrap(), DedupeResult::New);
    assert_eq!(marks.prune(&tx, 9).await.unwrap(), 0);
    tx.commit().await.unwrap();
    advance(pool.clone(), Duration::from_secs(30 * 86_400)).await;
    assert_eq!(handle(&pool, "a").await, DedupeResult::New);
    let tx = client.transaction().await.unwrap();
    assert_eq!(marks.prune(&tx, 2).await.unwrap(), 2);
    assert_eq!(marks.prune(&tx, 9).await.unwrap(), 1);
    tx.commit().await.unwrap();
    assert_eq!(handle(&pool, "a").await, DedupeResult::Duplicate);
}

#[tokio::test]
async fn invalid_key_and_settings_are_refused() {
    let Some(pool) = new_database().await else { return };
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    let error = PostgresMarks::new().mark(&tx, "").await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InvalidKey);
    for result in [
        PostgresMarks::new().ttl(Duration::ZERO),
        PostgresMarks::new().schema("a b"),
        PostgresMarks::new().table_prefix(""),
        PostgresMarks::new().scope("a b"),
    ] {
        assert_eq!(result.unwrap_err().kind(), InboxErrorKind::InvalidConfig);
    }
}

#[tokio::test]
async fn inbox_and_marks_see_each_other() {
    let Some(pool) = new_database().await else { return };
    let inbox = PostgresInbox::builder(pool.clone()).open().await.unwrap();
    assert_eq!(handle(&pool, "marked").await, DedupeResult::New);
    assert_eq!(inbox.claim("marked", DEFAULT_LEASE).await.unwrap(), Claim::Duplicate);
    let long = "k".repeat(9_000);
    assert_eq!(handle(&pool, &long).await, DedupeResult::New);
    assert_eq!(inbox.claim(&long, DEFAULT_LEASE).await.unwrap(), Claim::Duplicate);
    let Claim::Acquired(token) = inbox.claim("claimed", DEFAULT_LEASE).await.unwrap() else {
        panic!("not free")
    };
    let start = std::future::ready(());
    let error = handle_after(&pool, "claimed", start).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InFlight);
    inbox.complete(&token).await.unwrap();
    assert_eq!(handle(&pool, "claimed").await, DedupeResult::Duplicate);
}
