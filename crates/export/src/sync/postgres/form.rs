//! A form in a PostgreSQL database.

use std::time::Duration;

use formsvc_table::TypeSet;
use tokio_postgres::Client;

use super::connect::Connection;
use super::error::PostgresError;
use super::page_writer::PageWriter;
use super::schema::qualified;
use super::view;
use crate::coverage::{Coverage, Interval};
use crate::store::{PageToWrite, PageWritten};
use crate::sync::form_store::{IDS_MAX, rows_to_encode};
use crate::sync::labels::{LabelLimits, LabelSet, StoredLabel};
use crate::sync::names::{form_hash, view_names};
use crate::sync::{FormRef, SyncError, ViewChanges};

/// A view has 1,664 columns, and a name 63 bytes.
const LIMITS: LabelLimits = LabelLimits { labels: 1_500, heading_bytes: 63 };

/// A form in a PostgreSQL database, locked by this process.
#[derive(Debug)]
pub(crate) struct PgForm {
    connection: Connection,
    schema: String,
    key: i64,
    view: String,
    /// The labels as of the last transaction; `None` after a failed one.
    labels: Option<LabelSet>,
    pub(crate) changes: ViewChanges,
}

impl PgForm {
    /// Locks a form; adds it if it is new.
    pub(super) async fn open(
        connection: Connection,
        schema: &str,
        form: FormRef<'_>,
    ) -> Result<Self, SyncError> {
        if !lock(&connection, schema, form).await.map_err(PostgresError::from)? {
            return Err(SyncError::Locked { form: form.id.to_owned() });
        }
        let (key, view) = find_source(&connection, schema, form).await?;
        let changes = ViewChanges::default();
        let schema = schema.to_owned();
        let mut form = Self { connection, schema, key, view, labels: None, changes };
        let labels = form.read_labels().await?;
        form.update_view(&labels).await?;
        form.labels = Some(labels);
        Ok(form)
    }

    /// Ends the lock.
    pub(super) async fn close(self) -> Result<Connection, PostgresError> {
        if !self.connection.is_pooled {
            self.connection.client.query_typed("SELECT pg_advisory_unlock_all()", &[]).await?;
        }
        Ok(self.connection)
    }

    pub(crate) fn view(&self) -> &str {
        &self.view
    }

    fn table(&self, name: &str) -> String {
        qualified(&self.schema, name)
    }

    pub(crate) async fn write_page(
        &mut self,
        page: &PageToWrite<'_>,
    ) -> Result<PageWritten, PostgresError> {
        let known = self.labels.take();
        let writer = PageWriter::new(&self.schema, self.key);
        let transaction = self.connection.client.transaction().await?;
        writer.lock(&transaction).await?;
        let count = writer.count_labels(&transaction).await?;
        let mut labels = match known.filter(|known| known.labels().len() == count) {
            Some(known) => known,
            None => read_labels(transaction.client(), &self.schema, self.key).await?,
        };
        let encoded = labels.encode(&rows_to_encode(page));
        let mut written = writer.write_rows(&transaction, page, &encoded.rows).await?;
        writer.add_labels(&transaction, &labels, &encoded).await?;
        writer.add_overflows(&transaction, page).await?;
        written.coverage = read_coverage(transaction.client(), &self.schema, self.key).await?;
        if let Some(interval) = &page.interval {
            let before = written.coverage.clone();
            written.coverage.add(interval.clone());
            if written.coverage != before {
                writer.write_coverage(&transaction, &written.coverage).await?;
            }
        }
        transaction.commit().await?;
        self.changes.add_page(&labels, &encoded, &written.changed);
        // All columns are text.
        self.changes.widened_columns.clear();
        if labels.labels().len() > encoded.first_new {
            self.update_view(&labels).await?;
        }
        self.labels = Some(labels);
        Ok(written)
    }

    async fn update_view(&mut self, labels: &LabelSet) -> Result<(), PostgresError> {
        let (connection, schema) = (&self.connection, &self.schema);
        self.changes.outdated =
            view::update(connection, schema, &self.view, self.key, labels).await?;
        Ok(())
    }

    async fn read_labels(&self) -> Result<LabelSet, PostgresError> {
        read_labels(&self.connection.client, &self.schema, self.key).await
    }

    pub(crate) async fn rows(&self) -> Result<u64, PostgresError> {
        let select = format!("SELECT rows FROM {} WHERE key = $1", self.table("formsvc_sources"));
        let row = self.connection.client.query_typed_one(&select, typed![self.key => INT8]).await?;
        Ok(row.get::<_, i64>(0).unsigned_abs())
    }

    pub(crate) async fn overflows(&self) -> Result<Vec<String>, PostgresError> {
        let select = format!(
            "SELECT description FROM {} WHERE source = $1 ORDER BY start DESC",
            self.table("formsvc_overflows")
        );
        let rows = self.connection.client.query_typed(&select, typed![self.key => INT8]).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub(crate) async fn ids_after(
        &self,
        after: &str,
        before: i64,
    ) -> Result<Vec<String>, PostgresError> {
        let select = format!(
            "SELECT id FROM {} WHERE source = $1 AND id > $2 AND deleted_at IS NULL \
             AND fetched_at < $3 ORDER BY id LIMIT {IDS_MAX}",
            self.table("formsvc_submissions")
        );
        let values = typed![self.key => INT8, after => TEXT, before => INT8];
        let rows = self.connection.client.query_typed(&select, values).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    pub(crate) async fn mark_deleted(&self, ids: &[String], now: i64) -> Result<(), PostgresError> {
        let update = format!(
            "UPDATE {} SET deleted_at = $3 WHERE source = $1 AND id = ANY($2)",
            self.table("formsvc_submissions")
        );
        let values = typed![self.key => INT8, ids => TEXT_ARRAY, now => INT8];
        self.connection.client.execute_typed(&update, values).await?;
        Ok(())
    }
}

/// Attempts to take a lock: the server frees the lock of a closed connection a moment later.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// Takes the lock of a form for this session. Returns false if another session has it. Behind a pooler
/// in transaction mode a session is not ours, so that two runs may work at the same time.
async fn lock(
    connection: &Connection,
    schema: &str,
    form: FormRef<'_>,
) -> Result<bool, tokio_postgres::Error> {
    if connection.is_pooled {
        return Ok(true);
    }
    let hash = form_hash(&format!("{schema}\n{}", form.origin), form.id);
    let number = u64::from_str_radix(&hash[..16], 16).expect("a hash has hexadecimal digits");
    let select = format!("SELECT pg_try_advisory_lock({})", number.cast_signed());
    for _ in 1..LOCK_ATTEMPTS {
        if connection.client.query_typed_one(&select, &[]).await?.get(0) {
            return Ok(true);
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
    Ok(connection.client.query_typed_one(&select, &[]).await?.get(0))
}

/// Returns the key and the view of a form; adds it if it is new. A title replaces the stored one.
async fn find_source(
    connection: &Connection,
    schema: &str,
    form: FormRef<'_>,
) -> Result<(i64, String), PostgresError> {
    let sources = qualified(schema, "formsvc_sources");
    let title = form.title.map(|title| title.replace('\0', "\u{fffd}"));
    let client = &connection.client;
    let select =
        format!("SELECT key, view, title FROM {sources} WHERE origin = $1 AND form_id = $2");
    let values = typed![form.origin => TEXT, form.id => TEXT];
    if let Some(row) = client.query_typed_opt(&select, values).await? {
        let (key, view, known): (i64, String, Option<String>) =
            (row.get(0), row.get(1), row.get(2));
        if title.is_some() && title != known {
            let update = format!("UPDATE {sources} SET title = $2 WHERE key = $1");
            let values = typed![key => INT8, title => TEXT];
            client.execute_typed(&update, values).await?;
        }
        return Ok((key, view));
    }
    let mut view = String::new();
    for name in view_names(form.title, form.origin, form.id) {
        let is_free = view::is_free(connection, schema, &name).await?;
        view = name;
        if is_free {
            break;
        }
    }
    let insert = format!(
        "INSERT INTO {sources} (origin, form_id, title, view) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (origin, form_id) DO UPDATE SET title = excluded.title RETURNING key, view"
    );
    let values = typed![form.origin => TEXT, form.id => TEXT, title => TEXT, view => TEXT];
    let row = client.query_typed_one(&insert, values).await?;
    Ok((row.get(0), row.get(1)))
}

pub(super) async fn read_coverage(
    client: &Client,
    schema: &str,
    key: i64,
) -> Result<Coverage, PostgresError> {
    let select = format!(
        "SELECT newest, oldest, resume, completeness FROM {} WHERE source = $1",
        qualified(schema, "formsvc_coverage")
    );
    let mut coverage = Coverage::default();
    for row in client.query_typed(&select, typed![key => INT8]).await? {
        let interval = Interval::from_stored((row.get(0), row.get(1)), row.get(2), row.get(3));
        coverage.add(interval.map_err(PostgresError::Damaged)?);
    }
    Ok(coverage)
}

async fn read_labels(client: &Client, schema: &str, key: i64) -> Result<LabelSet, PostgresError> {
    let select = format!(
        "SELECT label, occurrence, heading, first_instant FROM {} WHERE source = $1 \
         ORDER BY position",
        qualified(schema, "formsvc_labels")
    );
    let rows = client.query_typed(&select, typed![key => INT8]).await?;
    let labels = rows.iter().map(|row| StoredLabel {
        label: row.get(0),
        occurrence: u32::try_from(row.get::<_, i64>(1)).unwrap_or_default(),
        heading: row.get(2),
        types: TypeSet::default(),
        first_instant: row.get(3),
    });
    Ok(LabelSet::new(LIMITS, labels.collect()))
}
