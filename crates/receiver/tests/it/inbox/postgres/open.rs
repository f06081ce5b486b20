//! Opening the inbox, its tables, and errors.

use std::time::Duration;

use deadpool_postgres::{Pool, RecyclingMethod};
use formsvc_receiver::bytes::Bytes;
use formsvc_receiver::inbox::{
    Claim, DEFAULT_LEASE, DedupeResult, Inbox, InboxError, InboxErrorKind, PostgresInbox, Queue,
};

use crate::postgres_cluster::{Cluster, connection_string, pool_for_url};

async fn execute(pool: &Pool, sql: &str) {
    pool.get().await.unwrap().batch_execute(sql).await.unwrap();
}

async fn assert_open(inbox: &PostgresInbox) {
    let claim = inbox.claim("k", DEFAULT_LEASE).await.unwrap();
    assert!(matches!(claim, Claim::Acquired(_)), "{claim:?}");
}

#[tokio::test]
async fn concurrent_receivers_create_tables_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let pool = cluster.new_schema().await;
    let tasks: Vec<_> =
        (0..12).map(|_| tokio::spawn(PostgresInbox::builder(pool.clone()).open())).collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn pool_with_open_transaction_is_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.create_schema().await;
    for (recycling, is_refused) in
        [(RecyclingMethod::Fast, true), (RecyclingMethod::Custom("ROLLBACK".into()), false)]
    {
        let pool = cluster.pool(&schema, recycling);
        execute(&pool, "BEGIN").await;
        let error = PostgresInbox::builder(pool).open().await.err();
        let kind = error.as_ref().map(InboxError::kind);
        assert_eq!(kind, is_refused.then_some(InboxErrorKind::InvalidConfig));
        let cause = error.map(|error| std::error::Error::source(&error).unwrap().to_string());
        assert!(cause.is_none_or(|cause| cause.contains("Custom(\"ROLLBACK\"")));
    }
}

#[tokio::test]
async fn tables_of_later_release_are_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let pool = cluster.new_schema().await;
    PostgresInbox::builder(pool.clone()).open().await.unwrap();
    execute(&pool, "UPDATE formsvc_inbox_schema SET version = 2").await;
    for creates_tables in [true, false] {
        let builder = PostgresInbox::builder(pool.clone()).creates_tables(creates_tables);
        let error = builder.open().await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::InvalidConfig, "{creates_tables}");
    }
}

#[tokio::test]
async fn tables_and_views_of_a_stranger_are_refused() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.create_schema().await;
    let pool = cluster.pool(&schema, RecyclingMethod::Fast);
    let stranger = format!("stranger_{schema}");
    let grant = format!("GRANT USAGE, CREATE ON SCHEMA {schema} TO {stranger}");
    execute(&pool, &format!("CREATE ROLE {stranger}; {grant}")).await;
    for object in [
        "VIEW formsvc_inbox_schema AS SELECT 1 AS version",
        "VIEW formsvc_inbox AS SELECT ''::bytea AS key",
        "TABLE formsvc_inbox_queue (payload bytea)",
        "SEQUENCE formsvc_inbox_fence",
    ] {
        execute(&pool, &format!("SET ROLE {stranger}; CREATE {object}; RESET ROLE")).await;
        let error = PostgresInbox::builder(pool.clone()).open().await.unwrap_err();
        assert_eq!(error.kind(), InboxErrorKind::InvalidConfig, "{object}");
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains(&stranger), "{cause}");
        execute(&pool, &format!("DROP OWNED BY {stranger}; {grant}")).await;
    }
    assert_open(&PostgresInbox::builder(pool.clone()).open().await.unwrap()).await;
    // The stranger is an administrator now.
    let owner = format!("ALTER TABLE formsvc_inbox OWNER TO {stranger}");
    execute(&pool, &format!("{owner}; ALTER SCHEMA {schema} OWNER TO {stranger}")).await;
    PostgresInbox::builder(pool).open().await.unwrap();
}

#[tokio::test]
async fn inboxes_with_different_table_names_are_independent() {
    let Some(cluster) = Cluster::shared() else { return };
    let (pool, other_schema) = (cluster.new_schema().await, cluster.create_schema().await);
    let builder = || PostgresInbox::builder(pool.clone());
    for builder in [
        builder(),
        builder().table_prefix("order").unwrap(),
        builder().schema(&other_schema).unwrap(),
    ] {
        let inbox = builder.open().await.unwrap();
        assert_open(&inbox).await;
        let result = inbox.accept("queued", &Bytes::new()).await.unwrap();
        assert_eq!(result, DedupeResult::New);
    }
    for name in ["a\"; DROP TABLE formsvc_inbox; --", "", "Upper"] {
        for result in [builder().schema(name), builder().table_prefix(name)] {
            assert_eq!(result.unwrap_err().kind(), InboxErrorKind::InvalidConfig);
        }
    }
}

#[tokio::test]
async fn tables_can_be_created_by_another_user() {
    let Some(cluster) = Cluster::shared() else { return };
    let pool = cluster.new_schema().await;
    let builder = || PostgresInbox::builder(pool.clone()).creates_tables(false);
    let error = builder().open().await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InvalidConfig);
    for _ in 0..2 {
        execute(&pool, &builder().create_tables_sql()).await;
    }
    assert_open(&builder().open().await.unwrap()).await;
    PostgresInbox::builder(pool).open().await.unwrap();
}

#[tokio::test]
async fn unreachable_database_is_unavailable() {
    let Some(cluster) = Cluster::shared() else { return };
    let pool = cluster.new_schema().await;
    let error = PostgresInbox::builder(pool.clone()).ttl(Duration::ZERO).open().await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::InvalidConfig, "an invalid time to live");
    let inbox = PostgresInbox::builder(pool).open().await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = connection_string(directory.path(), "public");
    let error = PostgresInbox::builder(pool_for_url(&url, RecyclingMethod::Fast)).open().await;
    let error = error.unwrap_err();
    assert_eq!((error.kind(), error.is_transient()), (InboxErrorKind::Unavailable, true));
    let debug = format!("{inbox:?} {error:?}");
    assert!(!debug.contains("nobody"), "the database user: {debug}");
}

#[tokio::test]
async fn database_error_contains_no_row() {
    let Some(cluster) = Cluster::shared() else { return };
    let pool = cluster.new_schema().await;
    let inbox = PostgresInbox::builder(pool.clone()).open().await.unwrap();
    let constraint = "ALTER TABLE formsvc_inbox_queue ADD CHECK (octet_length(payload) > 99)";
    execute(&pool, constraint).await;
    let error = inbox.accept("k", &Bytes::from_static(b"a secret")).await.unwrap_err();
    assert_eq!(error.kind(), InboxErrorKind::Internal);
    let text = format!("{error:?} {}", std::error::Error::source(&error).unwrap());
    assert!(text.contains("23514") && !text.contains("Failing row"), "{text}");
    let result = inbox.accept("k", &Bytes::from_static(&[7; 100])).await.unwrap();
    assert_eq!(result, DedupeResult::New, "the failed statement stored nothing");
}
