//! The schema of the database file, and how an older file becomes a current one.

use rusqlite::Connection;

use super::OpenError;
use crate::copy::NOTE_TABLE;

/// Marks the file as ours; `file` and other tools show it. "fsvc".
const APPLICATION_ID: i32 = 0x6673_7663;

/// Schema version `n` is reached by the first `n` scripts. Never edit one that was released.
const MIGRATIONS: &[&str] = &[include_str!("migrations/0001_initial.sql")];

/// The version this release writes.
fn current_version() -> i32 {
    i32::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Brings a database to the current schema, each step in one transaction; another process doing
/// the same at the same time is waited for.
pub(super) fn migrate(connection: &Connection) -> Result<(), OpenError> {
    take_steps(connection, None)
}

/// The same; a database that is made by it is a copy that was not finished from its first moment on.
pub(super) fn migrate_copy(connection: &Connection) -> Result<(), OpenError> {
    let mark = format!(
        "CREATE TABLE {NOTE_TABLE} (note TEXT NOT NULL) STRICT; INSERT INTO {NOTE_TABLE} VALUES ('')"
    );
    take_steps(connection, Some(&mark))
}

fn take_steps(connection: &Connection, mark: Option<&str>) -> Result<(), OpenError> {
    loop {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        match step(connection, mark) {
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

/// Whether the database is a copy that was not finished.
pub(super) fn is_unfinished(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?1)";
    connection.query_row(sql, [NOTE_TABLE], |row| row.get(0))
}

/// Refuses a copy that was not finished.
pub(super) fn refuse_unfinished(connection: &Connection) -> Result<(), OpenError> {
    if is_unfinished(connection)? { Err(OpenError::Unfinished) } else { Ok(()) }
}

enum Step {
    Taken,
    Done,
}

fn step(connection: &Connection, mark: Option<&str>) -> Result<Step, OpenError> {
    let done = inspect(connection)?;
    let Some(script) = MIGRATIONS.get(done) else { return Ok(Step::Done) };
    connection.execute_batch(script)?;
    if let Some(mark) = mark.filter(|_| done == 0) {
        connection.execute_batch(mark)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", i64::try_from(done + 1).unwrap_or(i64::MAX))?;
    Ok(Step::Taken)
}

/// How many migrations a database has had. Refuses one that is not ours or is newer than we are,
/// without changing it.
pub(super) fn inspect(connection: &Connection) -> Result<usize, OpenError> {
    let read = |sql| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
    let version = read("PRAGMA user_version")?;
    let application = read("PRAGMA application_id")?;
    let tables = read("SELECT count(*) FROM sqlite_schema")?;
    if application != APPLICATION_ID && (version, application, tables) != (0, 0, 0) {
        return Err(OpenError::NotOurs);
    }
    match usize::try_from(version) {
        Ok(done) if done <= MIGRATIONS.len() => Ok(done),
        Ok(_) => Err(OpenError::NewerSchema { found: version, known: current_version() }),
        Err(_) => Err(OpenError::NotOurs),
    }
}
