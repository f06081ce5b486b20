//! A database file that is copied from or into.

use std::path::Path;

use formsvc_protocol::SubmissionId;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::columns::StoredId;
use super::lock::ServerLock;
use super::open::Place;
use super::{OpenError, schema, settle};
use crate::copy::{BYTES_AT_ONCE, CopyError, EMPTIED, NOTE_TABLE, Role, Row, Table, Value};
use crate::store::{SchemaPolicy, StoreError, system_clock};

/// The last attempt of a delivery stands beside it, and those before it in a table of their own.
const ATTEMPTS: &str = "(SELECT submission, endpoint_no, number, started_us, duration_us, status,
        error, detail, address, snippet, resend FROM attempts
    UNION ALL SELECT submission, endpoint_no, attempts, last_started_us, last_duration_us,
        last_status, last_error, last_detail, last_address, last_snippet, last_resend
    FROM deliveries WHERE last_started_us IS NOT NULL)";
/// Without forms under import, which nobody goes on with.
const FORMS: &str = "(SELECT * FROM forms WHERE ready)";
/// The plus keeps them in the order of their keys.
const SUBMISSIONS: &str = "(SELECT * FROM submissions
    WHERE +form_no IN (SELECT form_no FROM forms WHERE ready))";
/// Forgetting looks at those in front, which are to be the oldest: what was read by key is put in the order
/// of time. Copied ones are numbered from 1, so that none takes the number of another that is still there.
const IN_ORDER_OF_TIME: &str = "UPDATE idempotency SET no = n.place FROM
        (SELECT no AS was, row_number() OVER (ORDER BY created_us, no) - count(*) OVER () AS place
            FROM idempotency) n
    WHERE no = n.was";
/// Commits after which the log is moved into the file.
const CHECKPOINT_AFTER: u32 = 32;

/// A database file that nobody else writes.
pub(crate) struct SqliteSide {
    db: Connection,
    _lock: ServerLock,
    commits: u32,
}

impl SqliteSide {
    /// Takes the lock of a server. A source is read as it is at this moment, and no command writes it
    /// meanwhile either; what a server had claimed when it died is given back first.
    pub(crate) fn open(path: &Path, role: Role) -> Result<Self, OpenError> {
        let place = Place::file(path)?;
        let lock = ServerLock::take(place.path().unwrap_or(path))?;
        let policy = match role {
            Role::Source => SchemaPolicy::Require,
            Role::Destination => SchemaPolicy::Create,
        };
        let db = place.connect_writer(policy)?;
        match role {
            Role::Source => schema::migrate(&db, policy)?,
            Role::Destination => schema::migrate_copy(&db)?,
        }
        if role == Role::Source {
            db.execute_batch("BEGIN IMMEDIATE")?;
            settle::give_back_all(&db, system_clock()()).map_err(OpenError::Claims)?;
            db.execute_batch("COMMIT; BEGIN IMMEDIATE")?;
        }
        Ok(Self { db, _lock: lock, commits: 0 })
    }

    pub(crate) fn read(
        &mut self,
        table: &Table,
        after: Option<&Row>,
        rows: usize,
    ) -> Result<Vec<Row>, CopyError> {
        let sql = statement(table, after, rows)?;
        Ok(read(&self.db, &sql, table)?)
    }

    pub(crate) fn note(&mut self) -> Result<Option<String>, CopyError> {
        if !schema::is_unfinished(&self.db).map_err(StoreError::from)? {
            return Ok(None);
        }
        let sql = format!("SELECT note FROM {NOTE_TABLE}");
        let note: String =
            self.db.query_row(&sql, [], |row| row.get(0)).map_err(StoreError::from)?;
        // Of a copy that was not begun it has the mark only.
        Ok((!note.is_empty()).then_some(note))
    }

    pub(crate) fn begin(&mut self, note: &str) -> Result<(), CopyError> {
        let begun = self.transaction(|db| {
            for table in EMPTIED {
                db.execute_batch(&format!("DELETE FROM {table}"))?;
            }
            db.execute_batch(&format!(
                "CREATE TABLE IF NOT EXISTS {NOTE_TABLE} (note TEXT NOT NULL) STRICT;
                 DELETE FROM {NOTE_TABLE}"
            ))?;
            db.execute(&format!("INSERT INTO {NOTE_TABLE} VALUES (?1)"), [note]).map(drop)
        });
        Ok(begun?)
    }

    pub(crate) fn write(
        &mut self,
        table: &Table,
        rows: &[Row],
        note: &str,
    ) -> Result<(), CopyError> {
        self.transaction(|db| {
            for row in rows {
                write_row(db, table, row)?;
            }
            db.execute(&format!("UPDATE {NOTE_TABLE} SET note = ?1"), [note]).map(drop)
        })?;
        self.commits += 1;
        if self.commits.is_multiple_of(CHECKPOINT_AFTER) {
            self.checkpoint()?;
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> Result<(), CopyError> {
        self.transaction(|db| {
            db.execute(IN_ORDER_OF_TIME, [])?;
            db.execute_batch(&format!("DROP TABLE {NOTE_TABLE}"))
        })?;
        self.db.execute_batch("ANALYZE").map_err(StoreError::from)?;
        Ok(self.checkpoint()?)
    }

    fn transaction(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let tx = self.db.transaction()?;
        work(&tx)?;
        Ok(tx.commit()?)
    }

    fn checkpoint(&self) -> Result<(), StoreError> {
        // Somebody who reads may hold it up; the log is emptied later then.
        self.db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
        Ok(())
    }
}

/// What reads a page of a table.
fn statement(table: &Table, after: Option<&Row>, rows: usize) -> Result<String, CopyError> {
    let from = match table.name {
        "attempts" => ATTEMPTS,
        "forms" => FORMS,
        "submissions" => SUBMISSIONS,
        name => name,
    };
    let after = after.map(|key| table.literals(key, |hex| format!("X'{hex}'"))).transpose()?;
    Ok(format!("{} LIMIT {rows}", table.select(from, after.as_deref())))
}

fn read(db: &Connection, sql: &str, table: &Table) -> Result<Vec<Row>, StoreError> {
    let mut statement = db.prepare(sql)?;
    let mut found = statement.query([])?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = found.next()? {
        let mut values = Row::with_capacity(table.columns.len());
        for (place, column) in table.columns.iter().enumerate() {
            let value = value(table.name, column, row.get_ref(place)?)?;
            bytes += match &value {
                Value::Text(text) => text.len(),
                Value::Bytes(bytes) => bytes.len(),
                Value::Null | Value::Int(_) => 0,
            };
            values.push(value);
        }
        rows.push(values);
        if bytes > BYTES_AT_ONCE {
            break;
        }
    }
    Ok(rows)
}

fn value(table: &str, column: &str, stored: ValueRef<'_>) -> Result<Value, StoreError> {
    let broken = || StoreError::Internal(format!("a value of {table}.{column} is none").into());
    Ok(match stored {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Blob(bits) if (table, column) == ("submissions", "id") => {
            let bits = bits.try_into().map_err(|_| broken())?;
            Value::Text(SubmissionId::from_bits(bits).as_str().to_owned())
        }
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_vec()),
        ValueRef::Text(text) => {
            let text = std::str::from_utf8(text).map_err(|_| broken())?;
            // As another kind of database keeps it, which has no such character.
            let is_detail = (table, column) == ("attempts", "detail");
            Value::Text(if is_detail { text.replace('\0', "\u{fffd}") } else { text.into() })
        }
        ValueRef::Real(_) => return Err(broken()),
    })
}

fn write_row(db: &Connection, table: &Table, row: &Row) -> rusqlite::Result<()> {
    if table.name == "attempts" && write_last_attempt(db, row)? {
        return Ok(());
    }
    let places = vec!["?"; table.columns.len()].join(", ");
    let sql = format!("INSERT INTO {} ({}) VALUES ({places})", table.name, table.listed());
    let ids = table.columns.iter().map(|column| (table.name, *column) == ("submissions", "id"));
    let values = row.iter().zip(ids).map(|(value, is_id)| match value {
        Value::Text(text) if is_id => match SubmissionId::new(text) {
            Ok(id) => Stored::Id(StoredId::new(&id)),
            Err(_) => Stored::Plain(value),
        },
        value => Stored::Plain(value),
    });
    db.prepare_cached(&sql)?.execute(params_from_iter(values)).map(drop)
}

/// Puts an attempt beside its delivery, when it is the last one.
fn write_last_attempt(db: &Connection, row: &Row) -> rusqlite::Result<bool> {
    let sql = "UPDATE deliveries SET last_started_us = ?4, last_duration_us = ?5,
            last_status = ?6, last_error = ?7, last_detail = ?8, last_address = ?9,
            last_snippet = ?10, last_resend = ?11
        WHERE submission = ?1 AND endpoint_no = ?2 AND attempts = ?3";
    let values = params_from_iter(row.iter().map(Stored::Plain));
    Ok(db.prepare_cached(sql)?.execute(values)? > 0)
}

enum Stored<'a> {
    Plain(&'a Value),
    Id(StoredId),
}

impl ToSql for Stored<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Plain(Value::Null) => ValueRef::Null,
            Self::Plain(Value::Int(number)) => ValueRef::Integer(*number),
            Self::Plain(Value::Text(text)) => ValueRef::Text(text.as_bytes()),
            Self::Plain(Value::Bytes(bytes)) => ValueRef::Blob(bytes),
            Self::Id(id) => return id.to_sql(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::TABLES;
    use crate::copy::tests::assert_complete;

    #[test]
    fn every_column_of_every_table_is_copied_or_left_on_purpose() {
        let db = Place::memory().connect_writer(SchemaPolicy::Create).unwrap();
        schema::migrate(&db, SchemaPolicy::Create).unwrap();
        let sql = "SELECT t.name, c.name, c.type FROM sqlite_schema t, pragma_table_info(t.name) c
            WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'
                -- Its order is that of the time.
                AND (t.name, c.name) <> ('idempotency', 'no')
                -- Attempts are read from there.
                AND (c.name NOT LIKE 'last~_%' ESCAPE '~' OR t.name = 'forms')";
        let mut columns = db.prepare(sql).unwrap();
        let columns = columns.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let columns = columns.unwrap();
        assert_complete(columns.map(Result::unwrap).collect());
    }
    fn side(dir: &Path) -> SqliteSide {
        SqliteSide::open(&dir.join("a.db"), Role::Destination).unwrap()
    }

    #[test]
    fn no_page_reads_or_sorts_all_of_a_table() {
        let dir = tempfile::tempdir().unwrap();
        let side = side(dir.path());
        for table in TABLES {
            let one = Value::Int(1);
            let key = table.key.iter().map(|name| match (table.name, *name) {
                ("idempotency", "key") => Value::Bytes(vec![1]),
                _ => one.clone(),
            });
            let sql = statement(table, Some(&key.collect()), 100).unwrap();
            let mut plan = side.db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let plan = plan.query_map([], |row| row.get::<_, String>(3)).unwrap();
            let plan: Vec<_> = plan.map(Result::unwrap).collect();
            // Forms are few beside what they have got.
            let is_few = |step: &str| table.name == "submissions" && step == "SCAN forms";
            let is_whole = |step: &String| {
                step.contains("TEMP B-TREE") || step.starts_with("SCAN") && !is_few(step)
            };
            assert!(!plan.iter().any(is_whole), "{}: {plan:#?}", table.name);
            assert!(plan.iter().any(|step| step.starts_with("SEARCH")), "{plan:#?}");
        }
    }

    #[test]
    fn copied_idempotency_keys_stand_in_the_order_of_time() {
        let dir = tempfile::tempdir().unwrap();
        let mut side = side(dir.path());
        side.db.pragma_update(None, "foreign_keys", false).unwrap();
        side.begin("").unwrap();
        let table = TABLES.iter().find(|table| table.name == "idempotency").unwrap();
        let digest = |byte| Value::Bytes(vec![byte; 32]);
        let times = [50, 10, 40, 10, 30, 20];
        let rows = (1..).zip(times).map(|(byte, time)| {
            vec![Value::Int(1), digest(byte), digest(0), Value::Int(1), Value::Int(time)]
        });
        let rows: Vec<Row> = rows.collect();
        for page in rows.chunks(2) {
            side.write(table, page, "").unwrap();
        }
        side.finish().unwrap();
        let add = "INSERT INTO idempotency (form_no, key, fingerprint, submission, created_us)
            VALUES (1, zeroblob(32), zeroblob(32), 1, 60)";
        side.db.execute(add, []).unwrap();
        let mut found = side.db.prepare("SELECT created_us FROM idempotency ORDER BY no").unwrap();
        let found = found.query_map([], |row| row.get::<_, i64>(0)).unwrap();
        let found: Vec<_> = found.map(Result::unwrap).collect();
        assert_eq!(found, [10, 10, 20, 30, 40, 50, 60]);
    }

    #[test]
    fn a_destination_is_marked_from_its_first_moment_on() {
        use crate::store::sqlite::SqliteStore;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        drop(SqliteSide::open(&path, Role::Destination).unwrap());
        let opened = SqliteStore::open(&path, system_clock());
        assert!(matches!(opened, Err(OpenError::Unfinished)), "{opened:?}");
        let mut side = SqliteSide::open(&path, Role::Destination).unwrap();
        assert_eq!(side.note().unwrap(), None, "nothing was begun");
        for note in ["first", "second"] {
            side.begin(note).unwrap();
            assert_eq!(side.note().unwrap().as_deref(), Some(note));
        }
        side.finish().unwrap();
        drop(side);
        SqliteStore::open(&path, system_clock()).unwrap();
    }
}
