//! The tables in a schema, and the rights that they need.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use tokio_postgres::error::SqlState;

use super::connect::Connection;
use super::error::PostgresError;
use super::quoted;

/// Version of the tables.
const VERSION: i64 = 2;

/// The tables and the rights that a run needs.
const RIGHTS: [(&str, &[&str]); 6] = [
    ("formsvc_meta", &["SELECT"]),
    ("formsvc_sources", &["SELECT", "INSERT", "UPDATE"]),
    ("formsvc_submissions", &["SELECT", "INSERT", "UPDATE"]),
    ("formsvc_labels", &["SELECT", "INSERT"]),
    ("formsvc_coverage", &["SELECT", "INSERT", "DELETE"]),
    ("formsvc_overflows", &["SELECT", "INSERT", "UPDATE"]),
];

/// Number of the lock that creates tables.
const CREATE_LOCK: i64 = 0x666f_726d_7376_6331;

/// Use of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Checks the schema, the version of its tables and the rights of the user. Returns false if there
/// are no tables.
pub(super) async fn check(
    connection: &Connection,
    schema: &str,
    access: Access,
) -> Result<bool, PostgresError> {
    const SELECT: &str = "SELECT current_user::text, current_setting('server_encoding'), \
         n.oid IS NOT NULL, coalesce(has_schema_privilege(n.oid, 'USAGE'), false), \
         coalesce(has_schema_privilege(n.oid, 'CREATE'), false) \
         FROM (SELECT 1) AS one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = $1";
    let row = connection.client.query_typed_one(SELECT, typed![schema => TEXT]).await?;
    let (user, encoding): (String, String) = (row.get(0), row.get(1));
    let (exists, has_usage, has_create): (bool, bool, bool) = (row.get(2), row.get(3), row.get(4));
    if !encoding.eq_ignore_ascii_case("UTF8") {
        return Err(PostgresError::Encoding(encoding));
    }
    if !exists {
        return Err(PostgresError::NoSchema { schema: schema.to_owned() });
    }
    let lacks = |rights: &str, object: &str| PostgresError::Rights {
        statement: format!("GRANT {rights} ON {object} TO {};", quoted(&user)),
        user: user.clone(),
    };
    let schema_object = format!("SCHEMA {}", quoted(schema));
    let missing = missing_rights(connection, schema, access).await?;
    if missing.tables.len() == RIGHTS.len() {
        return match (access, has_usage && has_create) {
            (Access::Write, false) => Err(lacks("USAGE, CREATE", &schema_object)),
            _ => Ok(false),
        };
    }
    if let Some(table) = missing.tables.first() {
        let reason = format!("table `{table}` is missing, but others exist");
        return Err(PostgresError::Foreign { schema: schema.to_owned(), reason });
    }
    if !has_usage {
        return Err(lacks("USAGE", &schema_object));
    }
    if !missing.rights.is_empty() {
        let rights: Vec<_> = missing.rights.into_iter().collect();
        let names: BTreeSet<_> =
            missing.of_tables.iter().map(|table| qualified(schema, table)).collect();
        let names: Vec<_> = names.into_iter().collect();
        return Err(lacks(&rights.join(", "), &names.join(", ")));
    }
    check_version(connection, schema).await?;
    Ok(true)
}

/// Rights that the user lacks.
#[derive(Default)]
struct MissingRights {
    /// Tables that do not exist.
    tables: Vec<&'static str>,
    /// Tables of which the user lacks a right.
    of_tables: Vec<&'static str>,
    rights: BTreeSet<&'static str>,
}

async fn missing_rights(
    connection: &Connection,
    schema: &str,
    access: Access,
) -> Result<MissingRights, PostgresError> {
    const SELECT: &str = "SELECT c.oid IS NOT NULL, \
         coalesce(has_table_privilege(c.oid, wanted.privilege), false) \
         FROM unnest($2::text[], $3::text[]) WITH ORDINALITY AS wanted (name, privilege, number) \
         LEFT JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
         ON n.oid = c.relnamespace AND n.nspname = $1) ON c.relname = wanted.name \
         ORDER BY wanted.number";
    let wanted: Vec<(&'static str, &'static str)> = RIGHTS
        .iter()
        .flat_map(|(table, rights)| rights.iter().map(|right| (*table, *right)))
        .filter(|(_, right)| access == Access::Write || *right == "SELECT")
        .collect();
    let (tables, rights): (Vec<&str>, Vec<&str>) = wanted.iter().copied().unzip();
    let values = typed![schema => TEXT, tables => TEXT_ARRAY, rights => TEXT_ARRAY];
    let mut missing = MissingRights::default();
    let rows = connection.client.query_typed(SELECT, values).await?;
    for ((table, right), row) in wanted.into_iter().zip(rows) {
        if !row.get::<_, bool>(0) {
            if !missing.tables.contains(&table) {
                missing.tables.push(table);
            }
        } else if !row.get::<_, bool>(1) {
            missing.of_tables.push(table);
            missing.rights.insert(right);
        }
    }
    Ok(missing)
}

async fn check_version(connection: &Connection, schema: &str) -> Result<(), PostgresError> {
    let foreign = |reason: String| PostgresError::Foreign { schema: schema.to_owned(), reason };
    let select = format!("SELECT version::bigint FROM {}", qualified(schema, "formsvc_meta"));
    let version = connection.client.query_typed_opt(&select, &[]).await.map_err(|error| {
        match error.code().map(SqlState::code) {
            // Undefined column.
            Some("42703") => foreign("`formsvc_meta` has no version".to_owned()),
            _ => error.into(),
        }
    })?;
    match version.map(|row| row.get::<_, i64>(0)) {
        Some(VERSION) => Ok(()),
        Some(found) => {
            Err(foreign(format!("their version is `{found}`, and this release uses `{VERSION}`")))
        }
        None => Err(foreign("`formsvc_meta` is empty".to_owned())),
    }
}

/// Creates the tables, unless another process has created them meanwhile.
pub(super) async fn create(connection: &mut Connection, schema: &str) -> Result<(), PostgresError> {
    let lock = format!("BEGIN; SELECT pg_advisory_xact_lock({CREATE_LOCK});");
    connection.client.batch_execute(&lock).await?;
    let mut create = String::new();
    if !check(connection, schema, Access::Write).await? {
        create = include_str!("schema.sql").replace("{schema}", &quoted(schema));
    }
    let _ = write!(create, "COMMIT;");
    connection.client.batch_execute(&create).await?;
    Ok(())
}

/// Returns the qualified name of a table or view.
pub(super) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}
