//! Tables of the PostgreSQL inbox and their migration.

use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Transaction};

use super::error::inbox_error;
use super::names::TableNames;
use crate::inbox::InboxError;

/// The version that this release writes.
const VERSION: i32 = 1;
/// Advisory lock of the migration: "fsvinbox" in ASCII.
const MIGRATION_LOCK: i64 = 0x6673_7669_6e62_6f78;

/// The SQL that creates the tables. `statements` documents the states. Keys are bytes, because text in
/// PostgreSQL cannot contain NUL.
pub(super) fn create_tables_sql(names: &TableNames) -> String {
    let [keys, queue, fence, version] =
        ["", "_queue", "_fence", "_schema"].map(|suffix| names.table(suffix));
    let [ends, due] = ["_ends", "_due"].map(|suffix| names.index(suffix));
    format!(
        r#"CREATE SEQUENCE IF NOT EXISTS {fence};
CREATE TABLE IF NOT EXISTS {keys} (
    scope text COLLATE "C" NOT NULL,
    key bytea NOT NULL,
    state smallint NOT NULL,
    fence bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX IF NOT EXISTS {ends} ON {keys} (until) WHERE state <> 1;
CREATE TABLE IF NOT EXISTS {queue} (
    place bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope text COLLATE "C" NOT NULL,
    key bytea NOT NULL,
    fence bigint NOT NULL,
    attempts integer NOT NULL,
    due timestamptz NOT NULL,
    payload bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS {due} ON {queue} (scope, due, place);
CREATE TABLE IF NOT EXISTS {version} (version integer NOT NULL);
INSERT INTO {version} SELECT {VERSION} WHERE NOT EXISTS (SELECT FROM {version});
"#
    )
}

/// Creates the tables, unless they exist. A lock makes concurrent migrations wait.
pub(super) async fn migrate(tx: &Transaction<'_>, names: &TableNames) -> Result<(), InboxError> {
    let lock = "SELECT FROM pg_advisory_xact_lock($1)";
    tx.query_typed(lock, &[(&MIGRATION_LOCK, Type::INT8)]).await.map_err(inbox_error)?;
    if !check_version(tx, names).await? {
        tx.batch_execute(&create_tables_sql(names)).await.map_err(inbox_error)?;
    }
    Ok(())
}

/// Returns true if the tables exist. Refuses tables of another version. Changes nothing.
pub(super) async fn check_version(
    client: &impl GenericClient,
    names: &TableNames,
) -> Result<bool, InboxError> {
    let table = names.table("_schema");
    let exists = "SELECT to_regclass($1) IS NOT NULL";
    let exists: bool = query_value(client, exists, &[(&table, Type::TEXT)]).await?;
    if !exists {
        return Ok(false);
    }
    let version = format!("SELECT max(version) FROM {table}");
    let version: Option<i32> = query_value(client, &version, &[]).await?;
    if version != Some(VERSION) {
        let version = version.unwrap_or_default();
        let problem = format!("the tables have version `{version}`; this release uses {VERSION}");
        return Err(InboxError::config(problem));
    }
    Ok(true)
}

async fn query_value<T: for<'a> tokio_postgres::types::FromSql<'a>>(
    client: &impl GenericClient,
    sql: &str,
    params: &[super::statements::Param<'_>],
) -> Result<T, InboxError> {
    let row = client.query_typed_one(sql, params).await.map_err(inbox_error)?;
    row.try_get(0).map_err(inbox_error)
}
