//! A connection that is used for one schema.

use futures_util::TryStreamExt;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, Row};

use crate::error::PostgresError;
use crate::sql::quoted;

type Values<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

/// Begins a transaction in which each statement sees the commits before it. The default of the server
/// may be another level. Functions and operators of other schemas are never used.
const BEGIN: &str =
    "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path TO pg_catalog, pg_temp";

/// A connection. In statements, `{t}` is the qualified prefix of the program's tables, and `{schema}` is
/// the schema.
///
/// A session that is dropped within a transaction ends it without effect. After an error it must be
/// dropped.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) schema: String,
}

impl Session {
    fn expand(&self, sql: &str) -> String {
        sql.replace("{t}", "{schema}.formsvc_").replace("{schema}", &quoted(&self.schema))
    }

    /// Begins a transaction. Every statement of the program is within one.
    pub(super) async fn begin(&self) -> Result<(), PostgresError> {
        self.run(BEGIN).await
    }

    pub(super) async fn commit(&self) -> Result<(), PostgresError> {
        self.run("COMMIT").await
    }

    /// Runs a statement in a transaction of its own.
    pub(super) async fn query_alone(
        &self,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        self.begin().await?;
        let rows = self.query(sql, values).await?;
        self.commit().await?;
        Ok(rows)
    }

    /// Runs statements without values.
    pub(super) async fn run(&self, sql: &str) -> Result<(), PostgresError> {
        Ok(self.client.batch_execute(&self.expand(sql)).await?)
    }

    pub(super) async fn query(
        &self,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Vec<Row>, PostgresError> {
        Ok(self.client.query_typed(&self.expand(sql), values).await?)
    }

    pub(super) async fn query_one(
        &self,
        sql: &str,
        values: Values<'_>,
    ) -> Result<Row, PostgresError> {
        Ok(self.client.query_typed_one(&self.expand(sql), values).await?)
    }

    /// Calls `take` with each row; the result is never complete in memory.
    pub(super) async fn for_each<E: From<PostgresError>>(
        &self,
        sql: &str,
        values: Values<'_>,
        mut take: impl FnMut(&Row) -> Result<(), E>,
    ) -> Result<(), E> {
        let values = values.iter().map(|(value, value_type)| (*value, value_type.clone()));
        let rows = self.client.query_typed_raw(&self.expand(sql), values).await;
        let mut rows = std::pin::pin!(rows.map_err(PostgresError::from)?);
        while let Some(row) = rows.try_next().await.map_err(PostgresError::from)? {
            take(&row)?;
        }
        Ok(())
    }

    /// Returns the qualified name of a view.
    pub(super) fn qualify(&self, name: &str) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(name))
    }
}

/// Returns a value of a row, or an error if its column has another type or is null: the owner of a table can
/// change it.
pub(super) fn get<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> Result<T, PostgresError> {
    row.try_get(index).map_err(|error| PostgresError::damaged(&error))
}

/// Returns the number in the only row of a result.
pub(super) fn get_count(rows: &[Row]) -> Result<u64, PostgresError> {
    rows.first().map_or(Ok(0), |row| Ok(get::<i64>(row, 0)?.unsigned_abs()))
}
