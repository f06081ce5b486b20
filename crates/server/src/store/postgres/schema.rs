//! The schema of the database, and how an older one becomes a current one.

use deadpool_postgres::{GenericClient, Pool};

use super::OpenError;
use super::rows::{column, query_opt};
use crate::copy::NOTE_TABLE;
use crate::store::StoreError;

/// Schema version `n` is reached by the first `n` scripts. Never edit one that was released.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_initial.sql")];
/// Of the lock that one process at a time migrates under. "formsvc".
const LOCK: i64 = 0x0066_6f72_6d73_7663;

/// Of the lock that whoever uses a schema shares, and a copy has for itself. "fsvc".
pub(super) const IN_USE: &str = "1718843235, hashtext(current_schema())";

/// Whether the database is a copy that was not finished.
pub(super) async fn is_unfinished(db: &impl GenericClient) -> Result<bool, StoreError> {
    let sql = "SELECT to_regclass(quote_ident(current_schema()) || '.' || $1) IS NOT NULL";
    let row = query_opt(db, sql, &[&NOTE_TABLE]).await?;
    row.map_or(Ok(false), |row| column(&row, 0))
}

/// Brings a database to the current schema, each step in one transaction. Another process doing the
/// same at the same time is waited for. Makes the first tables only when that is asked for. Gives the schema's name.
pub(super) async fn migrate(pool: &Pool, create: bool) -> Result<String, OpenError> {
    take_steps(pool, create, None).await
}

/// The same; a database that is made by it is a copy that was not finished from its first moment on.
pub(super) async fn migrate_copy(pool: &Pool) -> Result<(), OpenError> {
    let mark = format!(
        "CREATE TABLE {NOTE_TABLE} (note text NOT NULL); INSERT INTO {NOTE_TABLE} VALUES ('')"
    );
    take_steps(pool, true, Some(&mark)).await.map(drop)
}

async fn take_steps(pool: &Pool, create: bool, mark: Option<&str>) -> Result<String, OpenError> {
    while step(pool, create, mark).await? {}
    let client = pool.get().await.map_err(StoreError::from)?;
    Ok(current(&client).await?.unwrap_or_default())
}

/// The schema that tables are made in.
pub(super) async fn current(db: &impl GenericClient) -> Result<Option<String>, StoreError> {
    let row = query_opt(db, "SELECT current_schema()::text", &[]).await?;
    Ok(row.map(|row| column(&row, 0)).transpose()?.flatten())
}

/// Takes one step; `false` when there was none left.
async fn step(pool: &Pool, create: bool, mark: Option<&str>) -> Result<bool, OpenError> {
    let mut client = pool.get().await.map_err(StoreError::from)?;
    let tx = client.transaction().await.map_err(StoreError::from)?;
    // Long migrations of others are waited for; the lock ends with the transaction.
    let wait = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0";
    tx.batch_execute(wait).await.map_err(StoreError::from)?;
    super::rows::execute(&tx, "SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let done = version(&tx).await?;
    if done == 0 && !create {
        return Err(OpenError::Missing);
    }
    let known = known();
    if done > known {
        return Err(OpenError::NewerSchema { found: done, known });
    }
    let Some(script) = usize::try_from(done).ok().and_then(|done| MIGRATIONS.get(done)) else {
        return Ok(false);
    };
    tx.batch_execute(script).await.map_err(StoreError::from)?;
    if let Some(mark) = mark.filter(|_| done == 0) {
        tx.batch_execute(mark).await.map_err(StoreError::from)?;
    }
    let keep = format!(
        "CREATE TABLE IF NOT EXISTS formsvc_schema (version integer NOT NULL);
         DELETE FROM formsvc_schema;
         INSERT INTO formsvc_schema VALUES ({})",
        done + 1
    );
    tx.batch_execute(&keep).await.map_err(StoreError::from)?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(true)
}

/// Refuses a database that is empty, not ours, or newer than we are. Changes nothing.
pub(super) async fn inspect(pool: &Pool) -> Result<(), OpenError> {
    let client = pool.get().await.map_err(StoreError::from)?;
    let (found, known) = (version(&client).await?, known());
    match found {
        0 => Err(OpenError::Missing),
        _ if found > known => Err(OpenError::NewerSchema { found, known }),
        _ => Ok(()),
    }
}

/// The version this release writes.
fn known() -> i32 {
    i32::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Whether `formsvc_schema` is an ordinary table, and its owner is this user, a role whose rights the user
/// has, the owner of the schema or of the database, or a superuser; null if there is no such relation. A
/// view would run code of its owner with the rights of the server.
const IS_TRUSTED: &str = "SELECT c.relkind = 'r' AND (r.rolsuper \
     OR r.oid IN (u.oid, n.nspowner, d.datdba) \
     OR (NOT u.rolsuper AND pg_catalog.pg_has_role(u.oid, r.oid, 'USAGE'))) \
     FROM pg_catalog.pg_class c JOIN pg_catalog.pg_roles r ON r.oid = c.relowner \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     JOIN pg_catalog.pg_roles u ON u.rolname = current_user \
     JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() \
     WHERE n.nspname = current_schema() AND c.relname = 'formsvc_schema'";

/// How many migrations a schema has had. Refuses one that is not ours.
async fn version(db: &impl GenericClient) -> Result<i32, OpenError> {
    let ours = format!(
        "SELECT ({IS_TRUSTED}), current_schema()::text,
        EXISTS (SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = current_schema())"
    );
    let row = query_opt(db, &ours, &[]).await?;
    let row = row.ok_or_else(|| StoreError::Internal("a statement without a row".into()))?;
    let schema: Option<String> = column(&row, 1)?;
    let schema = schema.ok_or(OpenError::NoSchema)?;
    let (is_trusted, has_tables): (Option<bool>, bool) = (column(&row, 0)?, column(&row, 2)?);
    match is_trusted {
        Some(true) => {
            let row = query_opt(db, "SELECT version FROM formsvc_schema", &[]).await?;
            Ok(row.map(|row| column(&row, 0)).transpose()?.unwrap_or(0))
        }
        None if !has_tables => Ok(0),
        _ => Err(OpenError::NotOurs { schema }),
    }
}
