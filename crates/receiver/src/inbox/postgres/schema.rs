//! Tables of the PostgreSQL inbox and their migration.

use tokio_postgres::types::{ToSql, Type};
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
        // Some of them may have existed.
        check_owners(tx, names).await?;
    }
    Ok(())
}

/// Refuses views in place of the tables, and tables of untrusted roles: their code, such as a trigger, would
/// run with the rights of this user. Trusted are this user, the roles from which it inherits rights, the
/// owners of the schema and of the database, and superusers.
async fn check_owners(client: &impl GenericClient, names: &TableNames) -> Result<(), InboxError> {
    const SELECT: &str = "SELECT c.relname::text, r.rolname::text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_roles r ON r.oid = c.relowner \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_roles u ON u.rolname = current_user \
         JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() \
         WHERE c.oid IN (pg_catalog.to_regclass($1), pg_catalog.to_regclass($2), \
         pg_catalog.to_regclass($3), pg_catalog.to_regclass($4)) \
         AND NOT (c.relkind IN ('r', 'S') AND (r.rolsuper OR r.oid IN (u.oid, n.nspowner, d.datdba) \
         OR (NOT u.rolsuper AND pg_catalog.pg_has_role(u.oid, r.oid, 'USAGE')))) LIMIT 1";
    let tables = ["", "_queue", "_fence", "_schema"].map(|suffix| names.table(suffix));
    let params = tables.each_ref().map(|table| (table as &(dyn ToSql + Sync), Type::TEXT));
    let found = client.query_typed(SELECT, &params).await.map_err(inbox_error)?;
    let Some(found) = found.first() else { return Ok(()) };
    let (table, owner): (&str, &str) =
        (found.try_get(0).map_err(inbox_error)?, found.try_get(1).map_err(inbox_error)?);
    Err(InboxError::config(format!(
        "`{table}` of role `{owner}` is a view, or that role is neither this user, a role that it is a member of, the \
         owner of the schema or of the database, nor a superuser"
    )))
}

/// Returns true if the tables exist. Refuses tables of another version, and of a role that is not trusted.
/// Changes nothing.
pub(super) async fn check_version(
    client: &impl GenericClient,
    names: &TableNames,
) -> Result<bool, InboxError> {
    check_owners(client, names).await?;
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
