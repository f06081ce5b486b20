//! A PostgreSQL database that is copied from or into.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use deadpool_postgres::{Object, Transaction};
use futures_util::SinkExt;
use secrecy::SecretString;
use tokio_postgres::types::Type;

use super::connect::Connector;
use super::rows::column;
use super::{OpenError, schema};
use crate::copy::{BYTES_AT_ONCE, CopyError, EMPTIED, NOTE_TABLE, Role, Row, TABLES, Table, Value};
use crate::store::{SchemaPolicy, StoreError};

/// Times that a database in use is looked at, and the pause between: what ended a moment ago may
/// have its connection yet.
const LOOKS: u32 = 20;
const LOOK_PAUSE: Duration = Duration::from_millis(50);
/// Without forms under import, which nobody goes on with.
const FORMS: &str = "(SELECT * FROM forms WHERE ready) f";
/// Not a join: they are to be read in the order of their keys.
const SUBMISSIONS: &str = "(SELECT * FROM submissions
    WHERE (form_no IN (SELECT form_no FROM forms WHERE ready)) IS TRUE) s";
/// What is claimed goes back to where it was.
const GIVE_BACK: &str = "UPDATE queue q SET lane = CASE WHEN d.next_us IS NULL THEN 0 ELSE 1 END,
        at_us = coalesce(d.next_us, s.instant_us), token = NULL
    FROM deliveries d, submissions s
    WHERE q.lane = 2 AND d.submission = q.submission AND d.endpoint_no = q.endpoint_no
        AND s.key = q.submission";
/// The numbers that rows get by themselves.
const NUMBERED: [(&str, &str); 5] = [
    ("users", "user_no"),
    ("api_keys", "key_no"),
    ("forms", "form_no"),
    ("spam", "spam_no"),
    ("endpoints", "endpoint_no"),
];

/// A database that no server uses.
pub(crate) struct PostgresSide {
    db: Object,
}

impl PostgresSide {
    /// Takes what servers share, for itself. A source is read as it is at this moment, and nobody
    /// writes it meanwhile; what servers had claimed when they died is given back first.
    pub(crate) async fn open(address: &SecretString, role: Role) -> Result<Self, OpenError> {
        let pool = Connector::new(address)?.pool(1)?;
        match role {
            Role::Source => schema::migrate(&pool, SchemaPolicy::Require).await.map(drop)?,
            Role::Destination => schema::migrate_copy(&pool).await?,
        }
        let db = pool.get().await.map_err(StoreError::from)?;
        let side = Self { db };
        // It is one transaction, and waits for the other side.
        side.sql("SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0").await?;
        side.take_alone(role).await?;
        if role == Role::Source {
            if schema::is_unfinished(&side.db).await? {
                return Err(OpenError::Unfinished);
            }
            side.sql(GIVE_BACK).await?;
            let tables: Vec<_> = TABLES.iter().map(|table| table.name).collect();
            let lock = format!(
                "BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE {} IN SHARE MODE",
                tables.join(", ")
            );
            side.sql(&lock).await?;
        }
        Ok(side)
    }

    async fn take_alone(&self, role: Role) -> Result<(), OpenError> {
        for look in 0..LOOKS {
            if look > 0 {
                tokio::time::sleep(LOOK_PAUSE).await;
            }
            let sql = format!("SELECT pg_try_advisory_lock({})", schema::IN_USE);
            let row = self.db.query_one(&sql, &[]).await.map_err(StoreError::from)?;
            if column::<bool>(&row, 0)? {
                return Ok(());
            }
        }
        Err(OpenError::InUse { side: role.name() })
    }

    async fn sql(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.db.batch_execute(sql).await?)
    }

    pub(crate) async fn read(
        &mut self,
        table: &Table,
        after: Option<&Row>,
        rows: usize,
    ) -> Result<Vec<Row>, CopyError> {
        let from = match table.name {
            "forms" => FORMS,
            "submissions" => SUBMISSIONS,
            name => name,
        };
        let after =
            after.map(|key| table.literals(key, |hex| format!("'\\x{hex}'::bytea"))).transpose()?;
        let sql = format!("{} LIMIT {rows}", table.select(from, after.as_deref()));
        let sql = table.long.map(|long| no_more_than_fits(table, &sql, long)).unwrap_or(sql);
        let found = self.db.query(&sql, &[]).await.map_err(StoreError::from)?;
        let values = |row| (0..table.columns.len()).map(|place| value(row, place)).collect();
        Ok(found.iter().map(values).collect::<Result<_, StoreError>>()?)
    }

    pub(crate) async fn note(&mut self) -> Result<Option<String>, CopyError> {
        if !schema::is_unfinished(&self.db).await? {
            return Ok(None);
        }
        let sql = format!("SELECT note FROM {NOTE_TABLE}");
        let row = self.db.query_one(&sql, &[]).await.map_err(StoreError::from)?;
        let note: String = column(&row, 0)?;
        // Of a copy that was not begun it has the mark only.
        Ok((!note.is_empty()).then_some(note))
    }

    pub(crate) async fn begin(&mut self, note: &str) -> Result<(), CopyError> {
        Ok(self.try_begin(note).await?)
    }

    async fn try_begin(&mut self, note: &str) -> Result<(), StoreError> {
        let tx = self.db.transaction().await?;
        for table in EMPTIED {
            tx.batch_execute(&format!("DELETE FROM {table}")).await?;
        }
        tx.batch_execute(&format!(
            "CREATE TABLE IF NOT EXISTS {NOTE_TABLE} (note text NOT NULL); DELETE FROM {NOTE_TABLE}"
        ))
        .await?;
        tx.execute(&format!("INSERT INTO {NOTE_TABLE} VALUES ($1)"), &[&note]).await?;
        Ok(tx.commit().await?)
    }

    pub(crate) async fn write(
        &mut self,
        table: &Table,
        rows: &[Row],
        note: &str,
    ) -> Result<(), CopyError> {
        Ok(self.try_write(table, rows, note).await?)
    }

    async fn try_write(
        &mut self,
        table: &Table,
        rows: &[Row],
        note: &str,
    ) -> Result<(), StoreError> {
        let tx = self.db.transaction().await?;
        // What a crash takes back the note takes back with it.
        tx.batch_execute("SET LOCAL synchronous_commit = off").await?;
        copy_in(&tx, table, rows).await?;
        tx.execute(&format!("UPDATE {NOTE_TABLE} SET note = $1"), &[&note]).await?;
        Ok(tx.commit().await?)
    }

    pub(crate) async fn finish(&mut self) -> Result<(), CopyError> {
        Ok(self.try_finish().await?)
    }

    async fn try_finish(&mut self) -> Result<(), StoreError> {
        let tx = self.db.transaction().await?;
        for (table, number) in NUMBERED {
            let next = format!(
                "SELECT setval(pg_get_serial_sequence('{table}', '{number}'),
                    coalesce(max({number}), 0) + 1, false) FROM {table}"
            );
            tx.batch_execute(&next).await?;
        }
        tx.batch_execute(&format!("DROP TABLE {NOTE_TABLE}")).await?;
        tx.commit().await?;
        let tables: Vec<_> = TABLES.iter().map(|table| table.name).collect();
        self.sql(&format!("ANALYZE {}", tables.join(", "))).await
    }
}

/// Leaves out rows beyond the bytes of a long column that are read at a time, but not the first.
fn no_more_than_fits(table: &Table, rows: &str, long: &str) -> String {
    let (columns, key) = (table.listed(), table.key.join(", "));
    format!(
        "SELECT {columns} FROM (
            SELECT r.*, row_number() OVER line AS place_read,
                sum(coalesce(octet_length({long}), 0)) OVER line AS bytes_read
            FROM ({rows}) r WINDOW line AS (ORDER BY {key} ROWS UNBOUNDED PRECEDING)) r
        WHERE bytes_read <= {BYTES_AT_ONCE} OR place_read = 1 ORDER BY {key}"
    )
}

fn value(row: &tokio_postgres::Row, place: usize) -> Result<Value, StoreError> {
    let int = |number: Option<i64>| number.map_or(Value::Null, Value::Int);
    Ok(match *row.columns()[place].type_() {
        Type::BOOL => int(column::<Option<bool>>(row, place)?.map(i64::from)),
        Type::INT2 => int(column::<Option<i16>>(row, place)?.map(i64::from)),
        Type::INT4 => int(column::<Option<i32>>(row, place)?.map(i64::from)),
        Type::INT8 => int(column(row, place)?),
        Type::BYTEA => column::<Option<Vec<u8>>>(row, place)?.map_or(Value::Null, Value::Bytes),
        _ => column::<Option<String>>(row, place)?.map_or(Value::Null, Value::Text),
    })
}

async fn copy_in(tx: &Transaction<'_>, table: &Table, rows: &[Row]) -> Result<(), StoreError> {
    let sql = format!("COPY {} ({}) FROM STDIN", table.name, table.listed());
    let mut text = BytesMut::new();
    for row in rows {
        for (place, value) in row.iter().enumerate() {
            if place > 0 {
                text.put_u8(b'\t');
            }
            put(&mut text, value);
        }
        text.put_u8(b'\n');
    }
    let sink = tx.copy_in::<_, Bytes>(&sql).await?;
    let mut sink = std::pin::pin!(sink);
    sink.send(text.freeze()).await?;
    sink.finish().await?;
    Ok(())
}

/// Writes a value as COPY reads it.
fn put(text: &mut BytesMut, value: &Value) {
    match value {
        Value::Null => text.put_slice(b"\\N"),
        Value::Int(number) => text.put_slice(number.to_string().as_bytes()),
        Value::Bytes(bytes) => {
            text.put_slice(b"\\\\x");
            text.put_slice(hex::encode(bytes).as_bytes());
        }
        Value::Text(value) => {
            for byte in value.bytes() {
                match byte {
                    b'\\' => text.put_slice(b"\\\\"),
                    b'\n' => text.put_slice(b"\\n"),
                    b'\r' => text.put_slice(b"\\r"),
                    b'\t' => text.put_slice(b"\\t"),
                    byte => text.put_u8(byte),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_copy_would_take_for_its_own_is_escaped() {
        for (value, written) in [
            (Value::Null, "\\N"),
            (Value::Int(-3), "-3"),
            (Value::Bytes(vec![0, 0xff]), "\\\\x00ff"),
            (Value::Text("\\N".into()), "\\\\N"),
            (Value::Text("a\tb\r\nc\\.".into()), "a\\tb\\r\\nc\\\\."),
        ] {
            let mut text = BytesMut::new();
            put(&mut text, &value);
            assert_eq!(text, written.as_bytes());
        }
    }

    #[cfg(feature = "contract")]
    #[tokio::test]
    async fn every_column_of_every_table_is_copied_or_left_on_purpose() {
        use crate::copy::tests::assert_complete;
        use crate::store::contract::cluster::Cluster;
        let Some(cluster) = Cluster::or_skip() else { return };
        let pool = Connector::new(&cluster.fresh_schema()).unwrap().pool(1).unwrap();
        schema::migrate(&pool, SchemaPolicy::Create).await.unwrap();
        let sql = "SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
            WHERE table_schema = current_schema()
                AND (table_name, column_name) <> ('queue', 'token')";
        let columns = pool.get().await.unwrap().query(sql, &[]).await.unwrap();
        assert_complete(columns.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect());
    }

    #[cfg(feature = "contract")]
    #[tokio::test]
    async fn a_destination_is_marked_from_its_first_moment_on() {
        use crate::store::contract::cluster::Cluster;
        use crate::store::postgres::{PostgresOptions, PostgresStore};
        let Some(cluster) = Cluster::or_skip() else { return };
        let address = cluster.fresh_schema();
        drop(PostgresSide::open(&address, Role::Destination).await.unwrap());
        let opened = PostgresStore::open(&PostgresOptions::of(address.clone())).await;
        assert!(matches!(opened, Err(OpenError::Unfinished)), "{opened:?}");
        let mut side = PostgresSide::open(&address, Role::Destination).await.unwrap();
        assert_eq!(side.note().await.unwrap(), None, "nothing was begun");
        for note in ["first", "second"] {
            side.begin(note).await.unwrap();
            assert_eq!(side.note().await.unwrap().as_deref(), Some(note));
        }
        side.finish().await.unwrap();
    }
}
