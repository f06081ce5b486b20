//! A PostgreSQL database, and the forms in it.

use std::pin::pin;

use futures_util::TryStreamExt;

use super::address::Address;
use super::connect::Connection;
use super::error::PostgresError;
use super::form::{PgForm, read_coverage};
use super::schema::{Access, check, create, qualified};
use crate::error::ExportError;
use crate::store::{RowRange, RowStore, SourceKey};
use crate::sync::{FormRef, SyncError, SyncStatus};
use formsvc_table::StoredRow;

/// A PostgreSQL database.
#[derive(Debug)]
pub(crate) struct PgStore {
    address: Address,
    /// `None` while a form uses it, and after an error.
    connection: Option<Connection>,
    warnings: Vec<String>,
}

impl Address {
    /// Connects, and checks that the database can be read.
    pub(crate) async fn open(&self) -> Result<PgStore, PostgresError> {
        let mut warnings = Vec::new();
        let connection = Connection::open(self, &mut warnings).await?;
        check(&connection, &self.schema, Access::Read).await?;
        Ok(PgStore { address: self.clone(), connection: Some(connection), warnings })
    }
}

impl PgStore {
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the connection, or a new one if it was lost.
    async fn take_connection(&mut self) -> Result<Connection, PostgresError> {
        match self.connection.take().filter(|connection| !connection.client.is_closed()) {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.address, &mut Vec::new()).await,
        }
    }

    /// Locks a form; creates the tables if there are none, and adds the form if it is new.
    pub(crate) async fn open_form(&mut self, form: FormRef<'_>) -> Result<PgForm, SyncError> {
        let mut connection = self.take_connection().await?;
        let schema = &self.address.schema;
        if !check(&connection, schema, Access::Write).await? {
            create(&mut connection, schema).await?;
        }
        PgForm::open(connection, schema, form).await
    }

    /// Ends the lock of a form and keeps its connection, unless it is lost.
    pub(crate) async fn close_form(&mut self, form: PgForm) {
        self.connection = form.close().await.ok();
    }

    pub(crate) async fn status(&mut self) -> Result<Vec<SyncStatus>, PostgresError> {
        let connection = self.take_connection().await?;
        let schema = &self.address.schema;
        let mut forms = Vec::new();
        if check(&connection, schema, Access::Read).await? {
            forms = read_forms(&connection, schema).await?;
            for form in &mut forms {
                form.coverage = read_coverage(&connection.client, schema, form.key).await?;
            }
        }
        self.connection = Some(connection);
        Ok(forms)
    }

    /// Copies the rows of a form within a range into a row store.
    pub(crate) async fn copy_rows(
        &mut self,
        key: i64,
        range: RowRange,
        store: &mut RowStore,
        source: SourceKey,
    ) -> Result<(), ExportError> {
        let lost = |error| ExportError::from(SyncError::from(PostgresError::from(error)));
        let connection = self.take_connection().await.map_err(SyncError::from)?;
        let select = format!(
            "SELECT id, created_at, instant, data, extra FROM {} WHERE source = $1 \
             AND instant >= $2 AND instant < $3 AND ($4 OR deleted_at IS NULL)",
            qualified(&self.address.schema, "formsvc_submissions")
        );
        let RowRange { since, until, include_deleted } = range;
        let values = typed![key => INT8, since => INT8, until => INT8, include_deleted => BOOL];
        let rows = connection
            .client
            .query_typed_raw(&select, values.iter().cloned())
            .await
            .map_err(lost)?;
        let mut rows = pin!(rows);
        store.begin_copy()?;
        while let Some(row) = rows.try_next().await.map_err(lost)? {
            let text = |at: usize| row.get::<_, &str>(at);
            let instant = row.get(2);
            store.copy_row(
                source,
                &StoredRow {
                    id: text(0),
                    created_at: text(1),
                    instant,
                    data: text(3),
                    extra: text(4),
                },
            )?;
        }
        store.end_copy()?;
        self.connection = Some(connection);
        Ok(())
    }
}

async fn read_forms(
    connection: &Connection,
    schema: &str,
) -> Result<Vec<SyncStatus>, PostgresError> {
    let [sources, submissions] =
        ["formsvc_sources", "formsvc_submissions"].map(|table| qualified(schema, table));
    let select = format!(
        "SELECT s.key, s.origin, s.form_id, s.title, s.view, r.rows, r.deleted, \
         (SELECT created_at FROM {submissions} WHERE source = s.key ORDER BY instant DESC LIMIT 1) \
         FROM {sources} s CROSS JOIN LATERAL (SELECT count(*) AS rows, count(deleted_at) AS deleted \
         FROM {submissions} WHERE source = s.key) r ORDER BY s.key"
    );
    let rows = connection.client.query_typed(&select, &[]).await?;
    let forms = rows.into_iter().map(|row| {
        let (all, deleted): (i64, i64) = (row.get(5), row.get(6));
        SyncStatus {
            key: row.get(0),
            origin: row.get(1),
            form_id: row.get(2),
            title: row.get(3),
            view: row.get(4),
            rows: (all - deleted).unsigned_abs(),
            deleted: deleted.unsigned_abs(),
            newest: row.get(7),
            coverage: crate::Coverage::default(),
        }
    });
    Ok(forms.collect())
}
