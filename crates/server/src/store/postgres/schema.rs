//! The schema of the database, and how an older one becomes a current one.

use deadpool_postgres::{GenericClient, Pool};

use super::OpenError;
use super::rows::{column, query_opt};
use crate::copy::NOTE_TABLE;
use crate::store::{SchemaPolicy, StoreError};

/// Schema version `n` is reached by the first `n` scripts. Never edit one that was released.
const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_initial.sql"), include_str!("migrations/0002_own_faults.sql")];
/// Of the lock that one process at a time migrates under. "formsvc".
const LOCK: i64 = 0x0066_6f72_6d73_7663;

/// Of the lock that whoever uses a schema shares, and a copy has for itself. "fsvc".
/// The type `name` of the schema is cast, because a function of another role for this type would be used.
pub(super) const IN_USE: &str =
    "1718843235, pg_catalog.hashtext(pg_catalog.current_schema()::pg_catalog.text)";

/// Whether the database is a copy that was not finished.
pub(super) async fn is_unfinished(db: &impl GenericClient) -> Result<bool, StoreError> {
    let sql = "SELECT pg_catalog.to_regclass( \
               pg_catalog.format('%I.%I', pg_catalog.current_schema(), $1::pg_catalog.text)) IS NOT NULL";
    let row = query_opt(db, sql, &[&NOTE_TABLE]).await?;
    row.map_or(Ok(false), |row| column(&row, 0))
}

/// Brings a database to the current schema, as far as the policy allows. Each upgrade is one transaction, and
/// so is the creation of all tables; another process doing the same at the same time is waited for. Refuses an
/// unfinished copy. Returns the schema's name.
pub(super) async fn migrate(pool: &Pool, policy: SchemaPolicy) -> Result<String, OpenError> {
    take_steps(pool, policy, None).await
}

/// Creates the tables of a copy in an empty database; these are an unfinished copy from the beginning.
pub(super) async fn migrate_copy(pool: &Pool) -> Result<(), OpenError> {
    let mark = format!(
        "CREATE TABLE {NOTE_TABLE} (note text NOT NULL); INSERT INTO {NOTE_TABLE} VALUES ('')"
    );
    take_steps(pool, SchemaPolicy::Create, Some(&mark)).await.map(drop)
}

async fn take_steps(
    pool: &Pool,
    policy: SchemaPolicy,
    mark: Option<&str>,
) -> Result<String, OpenError> {
    while step(pool, policy, mark).await? {}
    let client = pool.get().await.map_err(StoreError::from)?;
    Ok(current(&client).await?.unwrap_or_default())
}

/// The schema that tables are made in.
pub(super) async fn current(db: &impl GenericClient) -> Result<Option<String>, StoreError> {
    let row = query_opt(db, "SELECT current_schema()::text", &[]).await?;
    Ok(row.map(|row| column(&row, 0)).transpose()?.flatten())
}

/// Takes one step; `false` when there was none left.
async fn step(pool: &Pool, policy: SchemaPolicy, mark: Option<&str>) -> Result<bool, OpenError> {
    let mut client = pool.get().await.map_err(StoreError::from)?;
    let tx = client.transaction().await.map_err(StoreError::from)?;
    // Long migrations of others are waited for; the lock ends with the transaction.
    let wait = "SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0";
    tx.batch_execute(wait).await.map_err(StoreError::from)?;
    super::rows::execute(&tx, "SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let found = check(&tx, policy).await?;
    if mark.is_none() && is_unfinished(&tx).await? {
        return Err(OpenError::Unfinished);
    }
    let done = found.unwrap_or(0);
    // An empty database gets all tables at once, so that none is seen with an older schema.
    let end = found.map_or(MIGRATIONS.len(), |done| MIGRATIONS.len().min(done + 1));
    if done == end {
        return Ok(false);
    }
    for script in &MIGRATIONS[done..end] {
        tx.batch_execute(script).await.map_err(StoreError::from)?;
    }
    if let (None, Some(mark)) = (found, mark) {
        tx.batch_execute(mark).await.map_err(StoreError::from)?;
    }
    let keep = format!(
        "CREATE TABLE IF NOT EXISTS formsvc_schema (version integer NOT NULL);
         DELETE FROM formsvc_schema;
         INSERT INTO formsvc_schema VALUES ({end})"
    );
    tx.batch_execute(&keep).await.map_err(StoreError::from)?;
    tx.commit().await.map_err(StoreError::from)?;
    Ok(true)
}

/// Returns the version of the schema, or `None` for an empty database. Refuses what the policy refuses, and a
/// schema that is not ours or is newer than we are. Changes nothing.
pub(super) async fn check(
    db: &impl GenericClient,
    policy: SchemaPolicy,
) -> Result<Option<usize>, OpenError> {
    let known = MIGRATIONS.len();
    match version(db).await? {
        None if policy == SchemaPolicy::Require => Err(OpenError::Missing),
        Some(found) if found > known => Err(OpenError::NewerSchema { found, known }),
        Some(found) if found < known && policy != SchemaPolicy::Upgrade => {
            Err(OpenError::OlderSchema { found, needed: known })
        }
        found => Ok(found),
    }
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

/// Returns the number of migrations that a schema has had, or `None` if nothing is in it. Refuses one that is
/// not ours.
async fn version(db: &impl GenericClient) -> Result<Option<usize>, OpenError> {
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
            let found: i32 = row.map(|row| column(&row, 0)).transpose()?.unwrap_or(0);
            Ok(Some(usize::try_from(found).unwrap_or(0)))
        }
        None if !has_tables => Ok(None),
        _ => Err(OpenError::NotOurs { schema }),
    }
}
