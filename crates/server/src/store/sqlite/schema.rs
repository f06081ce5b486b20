//! The schema of the database file, and how an older file becomes a current one.

use rusqlite::Connection;

use super::OpenError;
use crate::copy::NOTE_TABLE;
use crate::store::SchemaPolicy;

/// Marks the file as ours; `file` and other tools show it. "fsvc".
const APPLICATION_ID: i32 = 0x6673_7663;

/// Schema version `n` is reached by the first `n` scripts. Never edit one that was released.
const MIGRATIONS: &[&str] =
    &[include_str!("migrations/0001_initial.sql"), include_str!("migrations/0002_own_faults.sql")];

/// The version this release writes.
fn current_version() -> i32 {
    i32::try_from(MIGRATIONS.len()).expect("there are few migrations")
}

/// Brings a database to the current schema, as far as the policy allows. Each upgrade is one transaction, and
/// so is the creation of all tables; another process doing the same at the same time is waited for. Refuses an
/// unfinished copy.
pub(super) fn migrate(connection: &Connection, policy: SchemaPolicy) -> Result<(), OpenError> {
    take_steps(connection, policy, None)
}

/// Creates the tables of a copy in an empty database; these are an unfinished copy from the beginning.
pub(super) fn migrate_copy(connection: &Connection) -> Result<(), OpenError> {
    let mark = format!(
        "CREATE TABLE {NOTE_TABLE} (note TEXT NOT NULL) STRICT; INSERT INTO {NOTE_TABLE} VALUES ('')"
    );
    take_steps(connection, SchemaPolicy::Create, Some(&mark))
}

fn take_steps(
    connection: &Connection,
    policy: SchemaPolicy,
    mark: Option<&str>,
) -> Result<(), OpenError> {
    loop {
        connection.execute_batch("BEGIN IMMEDIATE")?;
        match step(connection, policy, mark) {
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

fn step(
    connection: &Connection,
    policy: SchemaPolicy,
    mark: Option<&str>,
) -> Result<Step, OpenError> {
    if mark.is_none() {
        refuse_unfinished(connection)?;
    }
    let found = check(connection, policy)?;
    let done = found.unwrap_or(0);
    // An empty database gets all tables at once, so that none is seen with an older schema.
    let end = found.map_or(MIGRATIONS.len(), |done| MIGRATIONS.len().min(done + 1));
    if done == end {
        return Ok(Step::Done);
    }
    for script in &MIGRATIONS[done..end] {
        connection.execute_batch(script)?;
    }
    if let (None, Some(mark)) = (found, mark) {
        connection.execute_batch(mark)?;
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", i64::try_from(end).unwrap_or(i64::MAX))?;
    Ok(Step::Taken)
}

/// Returns the version of the schema, or `None` for an empty database. Refuses what the policy refuses,
/// without changing it.
pub(super) fn check(
    connection: &Connection,
    policy: SchemaPolicy,
) -> Result<Option<usize>, OpenError> {
    match inspect(connection)? {
        None if policy == SchemaPolicy::Require => Err(OpenError::Empty),
        Some(found) if found < MIGRATIONS.len() && policy != SchemaPolicy::Upgrade => {
            Err(OpenError::OlderSchema { found, needed: MIGRATIONS.len() })
        }
        found => Ok(found),
    }
}

/// Returns the number of migrations that a database has had, or `None` if nothing is in it. Refuses one that
/// is not ours or is newer than we are, without changing it.
fn inspect(connection: &Connection) -> Result<Option<usize>, OpenError> {
    let read = |sql| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
    let version = read("PRAGMA user_version")?;
    let application = read("PRAGMA application_id")?;
    let tables = read("SELECT count(*) FROM sqlite_schema")?;
    if (version, application, tables) == (0, 0, 0) {
        return Ok(None);
    }
    if application != APPLICATION_ID {
        return Err(OpenError::NotOurs);
    }
    match usize::try_from(version) {
        Ok(done) if done <= MIGRATIONS.len() => Ok(Some(done)),
        Ok(_) => Err(OpenError::NewerSchema { found: version, known: current_version() }),
        Err(_) => Err(OpenError::NotOurs),
    }
}
