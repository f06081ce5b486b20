//! Statements run, and columns read into the types of the protocol.

use deadpool_postgres::GenericClient;
use formsvc_protocol::{FormInstant, IdError, Timestamp};
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Row, Statement};

use crate::store::StoreError;

/// Values of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Runs a statement and gives its rows.
pub(super) async fn query(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<Vec<Row>, StoreError> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query(&statement, params).await?)
}

/// Runs a statement and gives its row, if it has one.
pub(super) async fn query_opt(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<Option<Row>, StoreError> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.query_opt(&statement, params).await?)
}

/// Runs a statement and says how many rows it changed.
pub(super) async fn execute(
    db: &impl GenericClient,
    sql: &str,
    params: Params<'_>,
) -> Result<u64, StoreError> {
    let statement = db.prepare_cached(sql).await?;
    Ok(db.execute(&statement, params).await?)
}

/// Statements that are sent without waiting for each other have to be prepared before.
pub(super) async fn prepare<const N: usize>(
    db: &impl GenericClient,
    sql: [&str; N],
) -> Result<[Statement; N], StoreError> {
    let mut prepared = Vec::with_capacity(N);
    for sql in sql {
        prepared.push(db.prepare_cached(sql).await?);
    }
    Ok(prepared.try_into().unwrap_or_else(|_| unreachable!("one for each")))
}

/// A column of a row.
pub(super) fn column<'a, T: FromSql<'a>>(row: &'a Row, at: usize) -> Result<T, StoreError> {
    Ok(row.try_get(at)?)
}

/// An id from a text column, read by the constructor of its type.
pub(super) fn text_id<T>(
    row: &Row,
    at: usize,
    new: fn(&str) -> Result<T, IdError>,
) -> Result<T, StoreError> {
    new(column(row, at)?).map_err(|error| StoreError::Internal(Box::new(error)))
}

/// An instant from its microseconds.
pub(super) fn instant(row: &Row, at: usize) -> Result<FormInstant, StoreError> {
    Ok(FormInstant::from_micros(column(row, at)?))
}

/// An instant from its microseconds, if there are any.
pub(super) fn instant_opt(row: &Row, at: usize) -> Result<Option<FormInstant>, StoreError> {
    Ok(column::<Option<i64>>(row, at)?.map(FormInstant::from_micros))
}

/// A time that people are shown.
pub(super) fn timestamp(row: &Row, at: usize) -> Result<Timestamp, StoreError> {
    Ok(instant(row, at)?.to_timestamp())
}

/// A number that is never negative.
pub(super) fn count(row: &Row, at: usize) -> Result<u32, StoreError> {
    Ok(column::<i32>(row, at)?.unsigned_abs())
}
