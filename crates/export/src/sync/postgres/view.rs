//! Views of forms in a PostgreSQL database. Columns are text and are only appended.

use std::fmt::Write as _;

use tokio_postgres::error::SqlState;

use super::connect::Connection;
use super::error::PostgresError;
use super::quoted;
use super::schema::qualified;
use crate::sync::labels::{FIXED_COLUMNS, LabelSet};

/// The longest wait for queries that use the view, so that they do not block a run.
const LOCK_TIMEOUT: &str = "5s";

/// Returns the columns of a view; empty if there is none, `None` if the name is that of another object.
async fn columns(
    connection: &Connection,
    schema: &str,
    view: &str,
) -> Result<Option<Vec<String>>, PostgresError> {
    const SELECT: &str = "SELECT c.relkind::text, a.attname::text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 \
         WHERE n.nspname = $1 AND c.relname = $2 ORDER BY a.attnum";
    let values = typed![schema => TEXT, view => TEXT];
    let rows = connection.client.query_typed(SELECT, values).await?;
    if rows.iter().any(|row| row.get::<_, &str>(0) != "v") {
        return Ok(None);
    }
    Ok(Some(rows.iter().filter_map(|row| row.get(1)).collect()))
}

/// Returns true if no object of the schema has this name.
pub(super) async fn is_free(
    connection: &Connection,
    schema: &str,
    name: &str,
) -> Result<bool, PostgresError> {
    Ok(columns(connection, schema, name).await?.is_some_and(|columns| columns.is_empty()))
}

/// Creates the view or adds columns to it, unless it is current. A missing right and a long query
/// leave it as it is; then the reason and a hint are returned.
pub(super) async fn update(
    connection: &Connection,
    schema: &str,
    view: &str,
    key: i64,
    labels: &LabelSet,
) -> Result<Option<String>, PostgresError> {
    let other = || PostgresError::View { view: qualified(schema, view) };
    let known = columns(connection, schema, view).await?.ok_or_else(other)?;
    let headings = labels.labels().iter().map(|label| &*label.heading);
    let wanted: Vec<&str> = FIXED_COLUMNS.into_iter().chain(headings).collect();
    if known.len() >= wanted.len() && wanted.iter().zip(&known).all(|(a, b)| a == b) {
        return Ok(None);
    }
    if !known.iter().zip(&wanted).all(|(a, b)| a == b) {
        return Err(other());
    }
    let create = create_view(schema, view, key, labels);
    let statements = format!("BEGIN; SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'; {create}; COMMIT;");
    let Err(error) = connection.client.batch_execute(&statements).await else {
        return Ok(None);
    };
    connection.client.batch_execute("ROLLBACK").await?;
    let name = qualified(schema, view);
    match error.code() {
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            let row = connection.client.query_typed_one("SELECT current_user::text", &[]).await?;
            let user = quoted(row.get(0));
            let owner = format!(" ALTER VIEW {name} OWNER TO {user};");
            Ok(Some(format!(
                "this user cannot change the view {name}; its owner can run sync, or grant the \
                 right: GRANT USAGE, CREATE ON SCHEMA {} TO {user};{}",
                quoted(schema),
                if known.is_empty() { "" } else { &owner }
            )))
        }
        Some(&SqlState::LOCK_NOT_AVAILABLE) => Ok(Some(format!(
            "a query has used the view {name} for more than {LOCK_TIMEOUT}; the next run adds the columns"
        ))),
        // Another run of the same form was faster, or had more labels.
        _ => match columns(connection, schema, view).await? {
            Some(now) if now.len() >= wanted.len() => Ok(None),
            _ => Err(error.into()),
        },
    }
}

fn create_view(schema: &str, view: &str, key: i64, labels: &LabelSet) -> String {
    let [id, created_at, others] = FIXED_COLUMNS;
    let mut sql = format!(
        "CREATE OR REPLACE VIEW {} AS SELECT {id}, {created_at}, cells ->> 0 AS {others}",
        qualified(schema, view)
    );
    for (position, label) in (1..).zip(labels.labels()) {
        let _ = write!(sql, ", cells ->> {position} AS {}", quoted(&label.heading));
    }
    let table = qualified(schema, "formsvc_submissions");
    let _ = write!(sql, " FROM {table} WHERE source = {key} AND deleted_at IS NULL");
    sql
}
