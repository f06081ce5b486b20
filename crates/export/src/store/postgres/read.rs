//! Reads the forms of a database and their rows.

use formsvc_table::StoredRow;

use super::address::Address;
use super::session::{Session, get};
use super::tables::{Access, check};
use crate::coverage::{Coverage, Interval};
use crate::error::ExportError;
use crate::error::PostgresError;
use crate::store::SyncStatus;
use crate::store::status::stored_time;
use crate::store::{RowRange, RowStore, SourceKey, insert_row};

/// Describes the forms of a database; none if it has no tables yet.
pub(crate) async fn read_status(address: &Address) -> Result<Vec<SyncStatus>, PostgresError> {
    const SELECT: &str = "SELECT s.key, s.origin, s.form_id, s.title, s.view, s.public_id, \
         (SELECT count(*) FROM {t}submissions WHERE source = s.key), \
         (SELECT count(*) FROM {t}submissions WHERE source = s.key AND deleted_at IS NOT NULL), \
         (SELECT created_at FROM {t}submissions WHERE source = s.key ORDER BY instant DESC LIMIT 1) \
         FROM {t}sources s ORDER BY s.key";
    let session = Session::open(address).await?;
    let mut forms = Vec::new();
    session.begin().await?;
    if !check(&session, Access::Read).await? {
        return Ok(forms);
    }
    for row in &session.query(SELECT, &[]).await? {
        let (all, deleted): (i64, i64) = (get(row, 6)?, get(row, 7)?);
        forms.push(SyncStatus {
            key: get(row, 0)?,
            origin: get(row, 1)?,
            form_id: get(row, 2)?,
            public_id: get(row, 5)?,
            title: get(row, 3)?,
            view: get(row, 4)?,
            rows: (all - deleted).unsigned_abs(),
            deleted: deleted.unsigned_abs(),
            newest: stored_time(get(row, 8)?),
            coverage: read_coverage(&session, get(row, 0)?).await?,
        });
    }
    Ok(forms)
}

pub(super) async fn read_coverage(session: &Session, key: i64) -> Result<Coverage, PostgresError> {
    const SELECT: &str =
        "SELECT newest, oldest, resume, completeness FROM {t}coverage WHERE source = $1";
    let mut coverage = Coverage::default();
    for row in &session.query(SELECT, typed![key => INT8]).await? {
        let interval =
            Interval::from_stored((get(row, 0)?, get(row, 1)?), get(row, 2)?, get(row, 3)?);
        coverage.add(interval.map_err(PostgresError::Damaged)?);
    }
    Ok(coverage)
}

/// Copies the rows of a form within a range into a row store. They are none if there are no tables.
pub(crate) async fn copy_rows(
    address: &Address,
    key: i64,
    range: RowRange,
    store: &RowStore,
    source: SourceKey,
) -> Result<(), ExportError> {
    const SELECT: &str = "SELECT id, created_at, instant, data, extra FROM {t}submissions \
         WHERE source = $1 AND instant >= $2 AND instant < $3 AND ($4 OR deleted_at IS NULL)";
    let session = Session::open(address).await?;
    session.begin().await?;
    if !check(&session, Access::Read).await? {
        return Ok(());
    }
    let RowRange { since, until, include_deleted } = range;
    let values = typed![key => INT8, since => INT8, until => INT8, include_deleted => BOOL];
    let copied = session.for_each::<ExportError>(SELECT, values, |row| {
        let (id, created_at, instant) = (get(row, 0)?, get(row, 1)?, get(row, 2)?);
        let (data, extra) = (get(row, 3)?, get(row, 4)?);
        let row = StoredRow { id, created_at, instant, data, extra };
        store.run(|connection| Ok(insert_row(connection, source, &row, None, 0)?))?;
        Ok(())
    });
    copied.await
}
