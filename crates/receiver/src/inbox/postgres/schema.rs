//! The tables, and how older ones become current ones.

use deadpool_postgres::Pool;
use tokio_postgres::types::Type;
use tokio_postgres::{GenericClient, Transaction};

use super::alone::alone;
use super::names::Names;
use crate::inbox::{InboxError, InboxErrorKind};

/// The version this release writes.
const VERSION: i32 = 1;
/// Of the lock that one process at a time migrates under. "fsvinbox".
const LOCK: i64 = 0x6673_7669_6e62_6f78;

/// What makes the tables. Of keys, the state is 0 claimed, 1 queued, 2 handled, 3 released. A key is bytes,
/// since text of PostgreSQL has no NUL; `encode(key, 'escape')` shows it.
pub(super) fn tables(names: &Names) -> String {
    let [keys, queue, fence, versions] =
        ["", "_queue", "_fence", "_schema"].map(|rest| names.of(rest));
    let [ends, due] = ["_ends", "_due"].map(|rest| names.bare(rest));
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
CREATE TABLE IF NOT EXISTS {versions} (version integer NOT NULL);
INSERT INTO {versions} SELECT {VERSION} WHERE NOT EXISTS (SELECT FROM {versions});
"#
    )
}

/// Makes the tables, or brings them to the current version, in one transaction; another process doing the
/// same at the same time is waited for.
pub(super) async fn migrate(pool: &Pool, names: &Names) -> Result<(), InboxError> {
    let mut client = alone(pool.get().await?).await?;
    let tx = client.transaction().await?;
    create(&tx, names).await?;
    Ok(tx.commit().await?)
}

/// The same within a transaction.
pub(super) async fn create(tx: &Transaction<'_>, names: &Names) -> Result<(), InboxError> {
    let lock = "SELECT FROM pg_advisory_xact_lock($1)";
    tx.query_typed(lock, &[(&LOCK, Type::INT8)]).await?;
    if version(tx, names).await?.is_none() {
        tx.batch_execute(&tables(names)).await?;
    }
    Ok(())
}

/// Refuses tables that this release does not know, and where there are none. Changes nothing.
pub(super) async fn inspect(pool: &Pool, names: &Names) -> Result<(), InboxError> {
    let client = pool.get().await?;
    if version(&**client, names).await?.is_some() {
        return Ok(());
    }
    let why = format!("there is no table `{}`", names.of("_schema"));
    Err(InboxError::with_source(InboxErrorKind::Setup, why))
}

/// The version of the tables, if there are any; one of a later release is refused.
async fn version(client: &impl GenericClient, names: &Names) -> Result<Option<i32>, InboxError> {
    let versions = names.of("_schema");
    let exists = "SELECT to_regclass($1) IS NOT NULL";
    let exists = client.query_typed(exists, &[(&versions, Type::TEXT)]).await?;
    let exists = exists.first().map_or(Ok(false), |row| row.try_get(0))?;
    if !exists {
        return Ok(None);
    }
    let found = client.query_typed(&format!("SELECT version FROM {versions}"), &[]).await?;
    let found: i32 = found.first().map_or(Ok(0), |row| row.try_get(0))?;
    if !(0..=VERSION).contains(&found) {
        let why = format!("the tables have version `{found}`; this release knows `{VERSION}`");
        return Err(InboxError::with_source(InboxErrorKind::Setup, why));
    }
    Ok(Some(found))
}
