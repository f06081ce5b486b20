//! Reads, counts and marks the rows of a row store.

use std::collections::HashSet;

use formsvc_client::Timestamp;
use rusqlite::{Row, params};
use sha2::{Digest as _, Sha256};

use super::{RowStore, SourceKey};
use crate::error::{ExportError, StoreError};
use crate::row::RowCallback;
use formsvc_table::StoredRow;

/// Which submissions of a form to read. By default all that are not marked as deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a range does nothing until it is passed to a call"]
pub struct RowRange {
    /// In microseconds since 1970; `i64::MIN` is no bound.
    pub(crate) since: i64,
    /// In microseconds since 1970; `i64::MAX` is no bound.
    pub(crate) until: i64,
    pub(crate) include_deleted: bool,
}

impl Default for RowRange {
    fn default() -> Self {
        Self { since: i64::MIN, until: i64::MAX, include_deleted: false }
    }
}

impl RowRange {
    /// Leaves out submissions that were made before this time.
    pub fn since(self, time: impl Into<Option<Timestamp>>) -> Self {
        Self { since: time.into().map_or(i64::MIN, |time| time.unix_micros()), ..self }
    }

    /// Leaves out submissions that were made at this time or later.
    pub fn until(self, time: impl Into<Option<Timestamp>>) -> Self {
        Self { until: time.into().map_or(i64::MAX, |time| time.unix_micros()), ..self }
    }

    /// Includes submissions that are marked as deleted.
    pub fn include_deleted(self, include: bool) -> Self {
        Self { include_deleted: include, ..self }
    }
}

impl RowStore {
    /// Counts the rows of a form within a range, up to `max`.
    pub(crate) fn count(
        &self,
        source: SourceKey,
        range: RowRange,
        max: u64,
    ) -> Result<u64, StoreError> {
        const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM submissions \
             WHERE source = ?1 AND instant >= ?2 AND instant < ?3 \
             AND (?4 OR deleted_at IS NULL) LIMIT ?5)";
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let values = params![source.0, range.since, range.until, range.include_deleted, max];
        self.run(|connection| {
            let count = connection.prepare_cached(COUNT)?.query_row(values, |row| row.get(0));
            Ok(count.map(i64::unsigned_abs)?)
        })
    }

    /// Returns the number of stored submissions, without those that are marked as deleted. Two indices are
    /// enough to count both.
    pub(crate) fn total(&self, source: SourceKey) -> Result<u64, StoreError> {
        const SELECT: &str = "SELECT (SELECT count(*) FROM submissions WHERE source = ?1) \
             - (SELECT count(*) FROM submissions WHERE source = ?1 AND deleted_at IS NOT NULL)";
        self.run(|connection| {
            let total = connection.query_row(SELECT, [source.0], |row| row.get(0));
            Ok(total.map(i64::unsigned_abs)?)
        })
    }

    /// Returns the submissions that are not in a list, without those that are marked as deleted and
    /// those that were stored at this time or later.
    pub(crate) fn ids_without(
        &self,
        source: SourceKey,
        seen: &SeenIds,
        stored_before: i64,
    ) -> Result<Vec<String>, StoreError> {
        const SELECT: &str = "SELECT id FROM submissions WHERE source = ?1 AND fetched_at < ?2 \
             AND deleted_at IS NULL";
        self.run(|connection| {
            let mut select = connection.prepare(SELECT)?;
            let ids = select.query_map([source.0, stored_before], |row| row.get(0))?;
            let is_missing =
                |id: &Result<String, _>| !id.as_ref().is_ok_and(|id| seen.contains(&id_hash(id)));
            Ok(ids.filter(is_missing).collect::<Result<_, _>>()?)
        })
    }

    /// Records that no submission is missing in the intervals that end at this time or before.
    pub(crate) fn set_proven(&mut self, source: SourceKey, until: i64) -> Result<(), StoreError> {
        const DELETE: &str = "DELETE FROM left_out WHERE source = ?1 AND start <= ?2";
        const UPDATE: &str = "UPDATE coverage SET completeness = 'proven' \
             WHERE source = ?1 AND newest <= ?2";
        self.transact(|transaction| {
            transaction.execute(DELETE, [source.0, until])?;
            transaction.execute(UPDATE, [source.0, until])?;
            Ok(())
        })
    }

    /// Marks submissions as deleted at the service.
    pub(crate) fn mark_deleted(
        &mut self,
        source: SourceKey,
        ids: &[String],
        now: i64,
    ) -> Result<(), StoreError> {
        const MARK: &str = "UPDATE submissions SET deleted_at = ?3 WHERE source = ?1 AND id = ?2";
        self.transact(|transaction| {
            let mut mark = transaction.prepare(MARK)?;
            for id in ids {
                mark.execute(params![source.0, id, now])?;
            }
            Ok(())
        })
    }

    /// Removes the submissions that are marked as deleted, and returns their number. `VACUUM` rewrites the
    /// file, because the parts of it that are free could still contain them.
    pub(crate) fn purge_deleted(&mut self, source: SourceKey) -> Result<u64, StoreError> {
        const ITEMS: &str = "DELETE FROM left_out WHERE source = ?1 AND item IN \
             (SELECT id FROM submissions WHERE source = ?1 AND deleted_at IS NOT NULL)";
        const ROWS: &str = "DELETE FROM submissions WHERE source = ?1 AND deleted_at IS NOT NULL";
        let purged = self.transact(|transaction| {
            transaction.execute(ITEMS, [source.0])?;
            Ok(transaction.execute(ROWS, [source.0])?)
        })?;
        self.run(|connection| Ok(connection.execute_batch("VACUUM")?))?;
        Ok(purged as u64)
    }

    /// Calls `take` with the rows of a form within a range, newest first.
    pub(crate) fn read_rows(
        &self,
        source: SourceKey,
        range: RowRange,
        take: RowCallback<'_>,
    ) -> Result<(), ExportError> {
        const SELECT: &str = "SELECT id, created_at, instant, data, extra FROM submissions \
             WHERE source = ?1 AND instant >= ?2 AND instant < ?3 \
             AND (?4 OR deleted_at IS NULL) ORDER BY instant DESC, id";
        let failed = |error: rusqlite::Error| StoreError::new(&self.path, error);
        let RowRange { since, until, include_deleted } = range;
        let mut select = self.connection.prepare_cached(SELECT).map_err(failed)?;
        let values = params![source.0, since, until, include_deleted];
        let mut rows = select.query(values).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            take(read_row(row).map_err(failed)?)?;
        }
        Ok(())
    }
}

fn read_row<'a>(row: &'a Row<'_>) -> rusqlite::Result<StoredRow<'a>> {
    let text = |at: usize| -> rusqlite::Result<&'a str> { Ok(row.get_ref(at)?.as_str()?) };
    Ok(StoredRow {
        id: text(0)?,
        created_at: text(1)?,
        instant: row.get(2)?,
        data: text(3)?,
        extra: text(4)?,
    })
}

/// The ids of a list, as [hashes](id_hash): they have a bounded length.
pub(crate) type SeenIds = HashSet<[u8; 32]>;

pub(crate) fn id_hash(id: &str) -> [u8; 32] {
    Sha256::digest(id).into()
}
