//! The tables: what they are called, who makes them, and what is refused.

use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::Pool;
use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, Inbox, InboxErrorKind, PostgresInbox, Queue, Recorded,
};

use super::Cluster;

async fn sql(pool: &Pool, sql: &str) {
    pool.get().await.unwrap().batch_execute(sql).await.unwrap();
}

#[tokio::test]
async fn receivers_that_start_at_once_make_the_tables_once() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    let tasks: Vec<_> =
        (0..12).map(|_| tokio::spawn(PostgresInbox::builder(pool.clone()).open())).collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn tables_of_a_later_release_are_refused() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    PostgresInbox::builder(pool.clone()).open().await.unwrap();
    sql(&pool, "UPDATE formsvc_inbox_schema SET version = 2").await;
    for creates_tables in [true, false] {
        let builder = PostgresInbox::builder(pool.clone()).creates_tables(creates_tables);
        let error = builder.open().await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::Setup, "{creates_tables}");
    }
}

#[tokio::test]
async fn inboxes_with_other_names_know_nothing_of_each_other() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    let elsewhere = format!("elsewhere_{}", std::process::id());
    sql(&pool, &format!("CREATE SCHEMA {elsewhere}")).await;
    let builder = || PostgresInbox::builder(pool.clone());
    let inboxes = [
        builder().open().await.unwrap(),
        builder().table_prefix("order").unwrap().open().await.unwrap(),
        builder().schema(&elsewhere).unwrap().open().await.unwrap(),
    ];
    for inbox in &inboxes {
        let claim = inbox.claim("k", DEFAULT_LEASE).await.unwrap();
        assert!(matches!(claim, Claim::Acquired(_)), "{claim:?}");
        assert_eq!(
            inbox.accept("queued", &Bytes::from_static(b"{}")).await.unwrap(),
            Recorded::New
        );
    }
    for name in ["a\"; DROP TABLE formsvc_inbox; --", "", "Upper"] {
        assert_eq!(builder().schema(name).unwrap_err().kind(), InboxErrorKind::Setup);
        assert_eq!(builder().table_prefix(name).unwrap_err().kind(), InboxErrorKind::Setup);
    }
}

#[tokio::test]
async fn tables_can_be_made_by_somebody_else() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    let builder = || PostgresInbox::builder(pool.clone()).creates_tables(false);
    let error = builder().open().await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (InboxErrorKind::Setup, 503));
    for _ in 0..2 {
        sql(&pool, &builder().create_tables_sql()).await;
    }
    let without = builder().open().await.unwrap();
    let claim = without.claim("k", DEFAULT_LEASE).await.unwrap();
    assert!(matches!(claim, Claim::Acquired(_)));
    // Whoever may make tables finds them made.
    PostgresInbox::builder(pool).open().await.unwrap();
}

#[tokio::test]
async fn a_time_to_live_has_bounds() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    let error = PostgresInbox::builder(pool).ttl(Duration::ZERO).open().await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::Setup);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_unavailable() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let inbox = PostgresInbox::builder(cluster.fresh_schema().await).open().await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let nowhere = super::cluster::pool_at(dir.path(), "public");
    let error = PostgresInbox::builder(nowhere).open().await.unwrap_err();
    assert_eq!((error.kind(), error.may_pass()), (InboxErrorKind::Unavailable, true));
    let debug = format!("{inbox:?} {error:?}");
    assert!(!debug.contains("nobody"), "{debug}");
}

#[tokio::test]
async fn an_error_quotes_no_row() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let pool = cluster.fresh_schema().await;
    let inbox = PostgresInbox::builder(pool.clone()).open().await.unwrap();
    let broken = "ALTER TABLE formsvc_inbox_queue ADD CHECK (octet_length(payload) > 99)";
    sql(&pool, broken).await;
    let error = inbox.accept("k", &Bytes::from_static(b"a secret")).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::Internal);
    let shown = format!("{error:?} {}", std::error::Error::source(&error).unwrap());
    assert!(shown.contains("23514"), "{shown}");
    assert!(!shown.contains("Failing row"), "{shown}");
    assert_eq!(
        inbox.accept("k", &Bytes::from_static(&[7; 100])).await.unwrap(),
        Recorded::New,
        "nothing was kept"
    );
}
