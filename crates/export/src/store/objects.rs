//! Checks the tables of a database: a trigger or a view could run code, hide submissions, or never end.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::schema::sqlite_schema;
use crate::error::StoreProblem;

/// Returns true if the database has the table `meta`, as the schema creates it.
pub(super) fn has_meta(connection: &Connection) -> rusqlite::Result<bool> {
    let select = "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'meta'";
    let mut statements = connection.prepare(select)?;
    let mut statements = statements.query_map([], |row| row.get::<_, String>(0))?;
    let known = statements.next().transpose()?;
    Ok(known.map(|sql| normalized(&sql)).as_ref() == tables().get("meta"))
}

/// Returns an error if a table is missing, or was not created by the schema, or has a trigger. Other
/// tables, views and indices may be those of the user, and are not used.
pub(super) fn check_objects(connection: &Connection) -> Result<(), StoreProblem> {
    let mut missing = tables();
    let names: Vec<String> = missing.keys().cloned().collect();
    let select = "SELECT type, name, lower(name), lower(tbl_name), sql FROM sqlite_schema";
    let mut objects = connection.prepare(select)?;
    let mut objects = objects.query([])?;
    while let Some(object) = objects.next()? {
        let (kind, name): (String, String) = (object.get(0)?, object.get(1)?);
        let (lower_name, table): (String, String) = (object.get(2)?, object.get(3)?);
        if kind == "trigger" && names.contains(&table) {
            let trigger = format!("trigger `{name}` on table `{table}`");
            return Err(StoreProblem::Object(trigger));
        }
        let Some(expected) = missing.remove(&lower_name) else { continue };
        if kind != "table" {
            return Err(StoreProblem::Object(format!("{kind} `{name}`")));
        }
        if normalized(&object.get::<_, String>(4)?) != expected {
            return Err(StoreProblem::ChangedTable(name));
        }
    }
    match missing.into_keys().next() {
        Some(name) => Err(StoreProblem::Damaged(format!("table `{name}` is missing"))),
        None => Ok(()),
    }
}

/// The tables of the schema: their names, and their statements as SQLite stores them.
fn tables() -> BTreeMap<String, String> {
    let schema = normalized(&sqlite_schema());
    let tables = schema.split(';').filter_map(|statement| {
        let table = statement.trim().strip_prefix("CREATE TABLE IF NOT EXISTS ")?;
        let (name, _) = table.split_once(' ')?;
        Some((name.to_owned(), format!("CREATE TABLE {table}")))
    });
    tables.collect()
}

/// Returns statements without comments, and with single spaces. The statements of the schema have no
/// quotation marks, so that only equal ones become equal.
fn normalized(sql: &str) -> String {
    let without_comments = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
    let words: Vec<&str> = without_comments.flat_map(str::split_ascii_whitespace).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_those_that_the_schema_creates() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&sqlite_schema()).unwrap();
        let names: Vec<String> = tables().into_keys().collect();
        assert_eq!(names, ["coverage", "labels", "left_out", "meta", "sources", "submissions"]);
        assert!(has_meta(&connection).unwrap());
        check_objects(&connection).unwrap();
        assert!(!normalized(&sqlite_schema()).contains(['\'', '"', '`', '[', '/']));
    }
}
