//! Marks that commit with the caller's effect.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Pool;
use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, Inbox, InboxError, InboxErrorKind, KEY_MAX, PostgresInbox, PostgresMarks,
    Recorded,
};
use tokio::sync::Barrier;

use super::{Cluster, pass};

async fn database() -> Option<Pool> {
    let pool = Cluster::or_skip()?.fresh_schema().await;
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    PostgresMarks::new().create_tables(&tx).await.unwrap();
    tx.batch_execute("CREATE TABLE effects (key text)").await.unwrap();
    tx.commit().await.unwrap();
    Some(pool)
}

async fn effects(pool: &Pool) -> i64 {
    let client = pool.get().await.unwrap();
    client.query_one("SELECT count(*) FROM effects", &[]).await.unwrap().get(0)
}

/// Handles a key; commits or leaves it.
async fn handle(pool: &Pool, key: &str, commit: bool) -> Recorded {
    handle_after(pool, key, commit, std::future::ready(())).await.unwrap()
}

/// The same in a transaction that waits before it marks the key.
async fn handle_after(
    pool: &Pool,
    key: &str,
    commit: bool,
    start: impl Future<Output = ()>,
) -> Result<Recorded, InboxError> {
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    start.await;
    let recorded = PostgresMarks::new().mark(&tx, key).await?;
    if recorded == Recorded::New {
        tx.execute("INSERT INTO effects VALUES ($1)", &[&key]).await.unwrap();
    }
    if commit {
        tx.commit().await.unwrap();
    } else {
        tx.rollback().await.unwrap();
    }
    Ok(recorded)
}

#[tokio::test]
async fn effect_and_mark_are_both_there_or_neither() {
    let Some(pool) = database().await else { return };
    assert_eq!(handle(&pool, "k", false).await, Recorded::New);
    assert_eq!(effects(&pool).await, 0);
    assert_eq!(handle(&pool, "k", true).await, Recorded::New, "it was not handled");
    assert_eq!(handle(&pool, "k", true).await, Recorded::Duplicate);
    assert_eq!(effects(&pool).await, 1);
}

#[tokio::test]
async fn of_transactions_on_one_key_at_once_one_has_its_effect() {
    let Some(pool) = database().await else { return };
    // Each has its connection before any begins.
    let start = Arc::new(Barrier::new(12));
    let tasks: Vec<_> = (0..12)
        .map(|_| {
            let (pool, start) = (pool.clone(), Arc::clone(&start));
            let started = async move {
                start.wait().await;
            };
            tokio::spawn(async move { handle_after(&pool, "k", true, started).await })
        })
        .collect();
    let mut new = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(recorded) => new += i64::from(recorded == Recorded::New),
            Err(error) => assert_eq!(error.kind(), InboxErrorKind::InFlight),
        }
    }
    assert_eq!((new, effects(&pool).await), (1, 1));
}

#[tokio::test]
async fn a_key_that_another_transaction_has_is_refused_at_once_and_free_when_that_fails() {
    let Some(pool) = database().await else { return };
    let mut first = pool.get().await.unwrap();
    let tx = first.transaction().await.unwrap();
    assert_eq!(PostgresMarks::new().mark(&tx, "k").await.unwrap(), Recorded::New);
    assert_eq!(PostgresMarks::new().mark(&tx, "k").await.unwrap(), Recorded::Duplicate);
    let mut second = pool.get().await.unwrap();
    let other = second.transaction().await.unwrap();
    // Whoever waited instead would not be told before the first has ended.
    other.batch_execute("SET LOCAL lock_timeout = 1000").await.unwrap();
    let error = PostgresMarks::new().mark(&other, "k").await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InFlight);
    other.rollback().await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(handle(&pool, "k", true).await, Recorded::New);
}

#[tokio::test]
async fn a_marks_commit_waits_for_the_disk_whatever_the_settings() {
    let Some(pool) = database().await else { return };
    let mut client = pool.get().await.unwrap();
    client.batch_execute("SET synchronous_commit = off").await.unwrap();
    let tx = client.transaction().await.unwrap();
    assert_eq!(PostgresMarks::new().mark(&tx, "k").await.unwrap(), Recorded::New);
    let set = "SELECT current_setting('synchronous_commit')";
    assert_eq!(tx.query_one(set, &[]).await.unwrap().get::<_, &str>(0), "on");
    tx.commit().await.unwrap();
    assert_eq!(client.query_one(set, &[]).await.unwrap().get::<_, &str>(0), "off", "as it was");
}

#[tokio::test]
async fn marks_end_are_pruned_and_have_scopes() {
    let Some(pool) = database().await else { return };
    for key in ["a", "b", "c"] {
        assert_eq!(handle(&pool, key, true).await, Recorded::New);
    }
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    let other = PostgresMarks::new().scope("other").unwrap();
    assert_eq!(other.mark(&tx, "a").await.unwrap(), Recorded::New);
    assert_eq!(PostgresMarks::new().prune(&tx, 9).await.unwrap(), 0);
    tx.commit().await.unwrap();
    pass(pool.clone(), Duration::from_secs(30 * 86_400)).await;
    assert_eq!(handle(&pool, "a", true).await, Recorded::New);
    let tx = client.transaction().await.unwrap();
    assert_eq!(PostgresMarks::new().prune(&tx, 2).await.unwrap(), 2);
    assert_eq!(PostgresMarks::new().prune(&tx, 9).await.unwrap(), 1);
    tx.commit().await.unwrap();
    assert_eq!(handle(&pool, "a", true).await, Recorded::Duplicate);
}

#[tokio::test]
async fn a_key_and_names_have_bounds() {
    let Some(pool) = database().await else { return };
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    for key in ["", &"k".repeat(KEY_MAX + 1)] {
        let error = PostgresMarks::new().mark(&tx, key).await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Key);
    }
    let refused = [
        PostgresMarks::new().ttl(Duration::ZERO),
        PostgresMarks::new().schema("a b"),
        PostgresMarks::new().table_prefix(""),
        PostgresMarks::new().scope("a b"),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap_err().kind(), InboxErrorKind::Setup);
    }
}

#[tokio::test]
async fn an_inbox_and_marks_with_the_same_names_know_each_other() {
    let Some(pool) = database().await else { return };
    let inbox = PostgresInbox::builder(pool.clone()).open().await.unwrap();
    assert_eq!(handle(&pool, "marked", true).await, Recorded::New);
    assert_eq!(inbox.claim("marked", DEFAULT_LEASE).await.unwrap(), Claim::Duplicate);
    let Claim::Acquired(token) = inbox.claim("claimed", DEFAULT_LEASE).await.unwrap() else {
        panic!("it is free")
    };
    let mut client = pool.get().await.unwrap();
    let tx = client.transaction().await.unwrap();
    let error = PostgresMarks::new().mark(&tx, "claimed").await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InFlight);
    tx.rollback().await.unwrap();
    inbox.complete(&token).await.unwrap();
    assert_eq!(handle(&pool, "claimed", true).await, Recorded::Duplicate);
}
