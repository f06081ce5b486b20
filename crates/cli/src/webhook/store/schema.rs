//! The schema of the file, and what is refused.

use std::path::Path;

use rusqlite::Connection;

use super::StoreError;

/// Marks the file as ours; `file` and other tools show it. "fscp".
const APPLICATION_ID: i64 = 0x6673_6370;

/// Version `n` is reached by the first `n` scripts. Never edit one that was released.
const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// Brings a file to the current schema; another process doing the same is waited for.
pub(super) fn migrate(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::database("set up", path, error);
    if inspect(connection, path)? == MIGRATIONS.len() {
        return Ok(());
    }
    connection.execute_batch("BEGIN IMMEDIATE").map_err(failed)?;
    let done = inspect(connection, path).and_then(|done| {
        for script in &MIGRATIONS[done..] {
            connection.execute_batch(script).map_err(failed)?;
        }
        connection.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        connection.pragma_update(None, "user_version", known()).map_err(failed)?;
        connection.execute_batch("COMMIT").map_err(failed)
    });
    if done.is_err() {
        // The first failure is the one to tell.
        let _ = connection.execute_batch("ROLLBACK");
    }
    done
}

/// How many migrations a file has had. Refuses one that is not ours or is newer than we are.
pub(super) fn inspect(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let read = |sql| {
        let read = connection.query_row(sql, [], |row| row.get::<_, i64>(0));
        read.map_err(|error| StoreError::database("read", path, error))
    };
    let version = read("PRAGMA user_version")?;
    let application = read("PRAGMA application_id")?;
    let tables = read("SELECT count(*) FROM sqlite_schema")?;
    if application != APPLICATION_ID && (version, application, tables) != (0, 0, 0) {
        return Err(StoreError::NotOurs { path: path.to_owned() });
    }
    match usize::try_from(version) {
        Ok(done) if done <= MIGRATIONS.len() => Ok(done),
        Ok(_) => Err(StoreError::Newer { path: path.to_owned(), found: version, known: known() }),
        Err(_) => Err(StoreError::NotOurs { path: path.to_owned() }),
    }
}

/// The version this release writes.
fn known() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("there are few migrations")
}
