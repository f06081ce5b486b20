//! The tables in a schema, and the rights that they need.

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
    const SELECT: &str = "WITH wanted AS (SELECT w.name, w.privilege, c.oid, \
         has_table_privilege(c.oid, w.privilege) AS is_granted \
         FROM unnest($2::text[], $3::text[]) AS w (name, privilege) \
         LEFT JOIN (pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
         ON n.oid = c.relnamespace AND n.nspname = $1) ON c.relname = w.name) \
         SELECT current_user::text, current_setting('server_encoding'), \
         (SELECT has_schema_privilege(oid, 'USAGE') FROM pg_catalog.pg_namespace WHERE nspname = $1), \
         (SELECT has_schema_privilege(oid, 'CREATE') FROM pg_catalog.pg_namespace WHERE nspname = $1), \
         ARRAY(SELECT DISTINCT name FROM wanted WHERE oid IS NULL ORDER BY 1), \
         ARRAY(SELECT DISTINCT name FROM wanted WHERE NOT is_granted ORDER BY 1), \
         ARRAY(SELECT DISTINCT privilege FROM wanted WHERE NOT is_granted ORDER BY 1)";
    let (tables, privileges): (Vec<&str>, Vec<&str>) = RIGHTS
        .iter()
        .flat_map(|(table, rights)| rights.iter().map(|right| (*table, *right)))
        .filter(|(_, right)| access == Access::Write || *right == "SELECT")
        .unzip();
    let values = typed![schema => TEXT, tables => TEXT_ARRAY, privileges => TEXT_ARRAY];
    let row = connection.client.query_typed_one(SELECT, values).await?;
    let (user, encoding): (String, String) = (row.get(0), row.get(1));
    let (has_usage, has_create): (Option<bool>, Option<bool>) = (row.get(2), row.get(3));
    let (missing, of_tables): (Vec<&str>, Vec<&str>) = (row.get(4), row.get(5));
    let rights: Vec<&str> = row.get(6);
    if !encoding.eq_ignore_ascii_case("UTF8") {
        return Err(PostgresError::Encoding(encoding));
    }
    let (Some(has_usage), Some(has_create)) = (has_usage, has_create) else {
        return Err(PostgresError::NoSchema { schema: schema.to_owned() });
    };
    let lacks = |rights: &str, object: &str| PostgresError::Rights {
        statement: format!("GRANT {rights} ON {object} TO {};", quoted(&user)),
        user: user.clone(),
    };
    let schema_object = format!("SCHEMA {}", quoted(schema));
    if missing.len() == RIGHTS.len() {
        let may_create = has_usage && has_create || access == Access::Read;
        return if may_create { Ok(false) } else { Err(lacks("USAGE, CREATE", &schema_object)) };
    }
    if let Some(table) = missing.first() {
        let reason = format!("table `{table}` is missing, but others exist");
        return Err(PostgresError::Foreign { schema: schema.to_owned(), reason });
    }
    if !has_usage {
        return Err(lacks("USAGE", &schema_object));
    }
    if !rights.is_empty() {
        let names: Vec<_> = of_tables.iter().map(|table| qualified(schema, table)).collect();
        return Err(lacks(&rights.join(", "), &names.join(", ")));
    }
    check_version(connection, schema).await?;
    Ok(true)
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
    create.push_str("COMMIT;");
    connection.client.batch_execute(&create).await?;
    Ok(())
}

/// Returns the qualified name of a table or view.
pub(super) fn qualified(schema: &str, name: &str) -> String {
    format!("{}.{}", quoted(schema), quoted(name))
}
