//! The schema of the database file, and how an older file becomes a current one.

use rusqlite::Connection;

use super::OpenError;

/// Marks the file as ours; `file` and other tools show it. "fsvc".
const APPLICATION_ID: i32 = 0x6673_7663;

/// Schema version `n` is reached by the first `n` scripts. Never edit one that was released.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_initial.sql")];

/// The version this release writes.
pub(super) fn current_version() -> i32 {
    i32::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Brings a database to the current schema, each step in one transaction; another process doing
/// the same at the same time is waited for.
pub(super) fn migrate(connection: &Connection) -> Result<(), OpenError> {
    loop {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        match step(connection) {
            Ok(Step::Taken) => connection.execute_batch("COMMIT")?,
            Ok(Step::Done) => return Ok(connection.execute_batch("ROLLBACK")?),
            Err(error) => {
                // The first failure is the one to tell.
                let _ = connection.execute_batch("ROLLBACK");
                return Err(error);
            }
        }
    }
}

enum Step {
    Taken,
    Done,
}

fn step(connection: &Connection) -> Result<Step, OpenError> {
    let version: i32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID && (version, application, tables) != (0, 0, 0) {
        return Err(OpenError::NotOurs);
    }
    let Ok(done) = usize::try_from(version) else { return Err(OpenError::NotOurs) };
    match MIGRATIONS.get(done) {
        Some(script) => {
            connection.execute_batch(script)?;
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            connection.pragma_update(None, "user_version", version + 1)?;
            Ok(Step::Taken)
        }
        None if done == MIGRATIONS.len() => Ok(Step::Done),
        None => Err(OpenError::NewerSchema { found: version, known: current_version() }),
    }
}
