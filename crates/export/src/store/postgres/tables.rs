//! The tables in a schema, and the rights that they need.

use std::collections::BTreeSet;

use super::session::{Session, get};
use super::trust::check_tables;
use crate::error::PostgresError;
use crate::sql::quoted;
use crate::store::schema::{TABLES, VERSION, postgres_schema};

/// The rights that a run needs on each table but `meta`, which it reads.
const RIGHTS: [&str; 4] = ["SELECT", "INSERT", "UPDATE", "DELETE"];

/// Number of the lock that creates tables.
const CREATE_LOCK: i64 = 0x666f_726d_7376_6331;

/// Use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Checks the schema, the version of its tables, their owners and the rights of the user, within a
/// transaction. Returns false if there are no tables.
pub(super) async fn check(session: &Session, access: Access) -> Result<bool, PostgresError> {
    const SELECT_SCHEMA: &str = "SELECT current_user::text, current_setting('server_encoding'), \
         has_schema_privilege(oid, 'USAGE'), has_schema_privilege(oid, 'CREATE') \
         FROM pg_catalog.pg_namespace WHERE nspname = $1";
    const SELECT_LACKING: &str = "SELECT w.name, w.privilege, c.oid IS NULL \
         FROM unnest($2::text[], $3::text[]) AS w (name, privilege) \
         LEFT JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
         ON n.oid = c.relnamespace AND n.nspname = $1) ON c.relname = 'formsvc_' || w.name \
         WHERE c.oid IS NULL OR NOT has_table_privilege(c.oid, w.privilege)";
    let schema = &session.schema;
    let found = session.query(SELECT_SCHEMA, typed![schema => TEXT]).await?;
    let found = found.first().ok_or_else(|| PostgresError::NoSchema(schema.clone()))?;
    let (user, encoding): (&str, &str) = (get(found, 0)?, get(found, 1)?);
    let (has_usage, has_create): (bool, bool) = (get(found, 2)?, get(found, 3)?);
    if encoding != "UTF8" {
        return Err(PostgresError::Encoding(encoding.to_owned()));
    }
    let is_needed =
        |table, right| right == "SELECT" || (access == Access::Write && table != "meta");
    let needed = TABLES.into_iter().flat_map(|table| RIGHTS.map(|right| (table, right)));
    let (names, privileges): (Vec<&str>, Vec<&str>) =
        needed.filter(|(table, right)| is_needed(*table, *right)).unzip();
    let values = typed![schema => TEXT, names => TEXT_ARRAY, privileges => TEXT_ARRAY];
    let lacking = session.query(SELECT_LACKING, values).await?;
    let (missing, refused): (Vec<_>, Vec<_>) = lacking.iter().partition(|row| row.get(2));
    let is_new = missing.len() == names.len();
    let rights: &[&str] = match access {
        Access::Write if is_new && !(has_usage && has_create) => &["USAGE", "CREATE"],
        _ if !is_new && !has_usage => &["USAGE"],
        _ => &[],
    };
    let lacks = |rights: &str, object: &str| PostgresError::Rights {
        statement: format!("GRANT {rights} ON {object} TO {};", quoted(user)),
        user: user.to_owned(),
    };
    if !rights.is_empty() {
        return Err(lacks(&rights.join(", "), &format!("SCHEMA {}", quoted(schema))));
    }
    if is_new {
        return Ok(false);
    }
    let tables = TABLES.map(|table| format!("formsvc_{table}"));
    check_tables(session, &tables, access).await?;
    let foreign = |reason| PostgresError::Foreign { schema: schema.clone(), reason };
    if let Some(table) = missing.first() {
        let table: &str = table.get(0);
        return Err(foreign(format!("table `formsvc_{table}` is missing, but others exist")));
    }
    if !refused.is_empty() {
        let name = |table: &str| session.qualify(&format!("formsvc_{table}"));
        let tables: BTreeSet<String> = refused.iter().map(|row| name(row.get(0))).collect();
        let rights: BTreeSet<&str> = refused.iter().map(|row| row.get(1)).collect();
        let join = |words: Vec<&str>| words.join(", ");
        let tables = join(tables.iter().map(|table| &**table).collect());
        return Err(lacks(&join(rights.into_iter().collect()), &tables));
    }
    let version = session.query("SELECT version::bigint FROM {t}meta", &[]).await?;
    match version.first().map_or(Ok(0), |row| get(row, 0))? {
        VERSION => Ok(true),
        found => {
            Err(foreign(format!("their version is `{found}`, and this release uses `{VERSION}`")))
        }
    }
}

/// Locks the tables until the transaction ends, so that no trigger and no foreign key can be added, and checks
/// them.
pub(super) async fn lock_and_check(session: &Session) -> Result<(), PostgresError> {
    let written = TABLES.iter().filter(|table| **table != "meta");
    let written: Vec<String> = written.map(|table| format!("{{t}}{table}")).collect();
    session.run(&format!("LOCK TABLE {} IN ROW EXCLUSIVE MODE", written.join(", "))).await?;
    check(session, Access::Write).await.map(drop)
}

/// Creates the tables, unless another process has created them meanwhile. Must be within a transaction.
pub(super) async fn create(session: &Session) -> Result<(), PostgresError> {
    session.run(&format!("SELECT pg_advisory_xact_lock({CREATE_LOCK})")).await?;
    if !check(session, Access::Write).await? {
        session.run(&postgres_schema()).await?;
    }
    Ok(())
}
