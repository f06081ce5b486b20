//! Writes a page of a form in one transaction.

use std::collections::HashMap;

use formsvc_client::Submission;
use tokio_postgres::Transaction;

use super::schema::qualified;
use crate::coverage::{Coverage, Interval};
use crate::store::{PageToWrite, PageWritten, extra_json};
use crate::sync::labels::{EncodedPage, EncodedRow, LabelSet};

type Error = tokio_postgres::Error;

/// The tables of a form.
pub(super) struct PageWriter<'a> {
    schema: &'a str,
    key: i64,
}

impl<'a> PageWriter<'a> {
    pub(super) fn new(schema: &'a str, key: i64) -> Self {
        Self { schema, key }
    }

    fn table(&self, name: &str) -> String {
        qualified(self.schema, name)
    }

    /// Waits for the transactions of other runs of the form, and locks them out until the end of this
    /// one.
    pub(super) async fn lock(&self, transaction: &Transaction<'_>) -> Result<(), Error> {
        let sources = self.table("formsvc_sources");
        let select = format!("SELECT key FROM {sources} WHERE key = $1 FOR UPDATE");
        transaction.query_typed(&select, typed![self.key => INT8]).await.map(drop)
    }

    pub(super) async fn count_labels(&self, transaction: &Transaction<'_>) -> Result<usize, Error> {
        let select = format!(
            "SELECT coalesce(max(position), 0) FROM {} WHERE source = $1",
            self.table("formsvc_labels")
        );
        let row = transaction.query_typed_one(&select, typed![self.key => INT8]).await?;
        Ok(usize::try_from(row.get::<_, i64>(0)).unwrap_or_default())
    }

    /// Inserts new rows and replaces those with other content, by one statement. A row that the service
    /// has is not deleted.
    pub(super) async fn write_rows(
        &self,
        transaction: &Transaction<'_>,
        page: &PageToWrite<'_>,
        encoded: &[EncodedRow],
    ) -> Result<PageWritten, Error> {
        let submissions = self.table("formsvc_submissions");
        let statement = format!(
            "WITH incoming AS (SELECT * FROM unnest($2::text[], $3::text[], $4::bigint[], \
             $5::text[], $6::text[], $7::text[]) AS r (id, created_at, instant, data, extra, cells)), \
             known AS (SELECT s.id, s.deleted_at IS NOT NULL AS is_deleted, \
             s.created_at = i.created_at AND s.data = i.data AND s.extra = i.extra AS is_same \
             FROM {submissions} s JOIN incoming i ON s.id = i.id WHERE s.source = $1), \
             written AS (INSERT INTO {submissions} \
             (source, id, created_at, instant, data, extra, cells, fetched_at) \
             SELECT $1, i.id, i.created_at, i.instant, i.data, i.extra, i.cells::jsonb, $8 \
             FROM incoming i LEFT JOIN known k ON k.id = i.id \
             WHERE k.id IS NULL OR k.is_deleted OR NOT k.is_same \
             ON CONFLICT (source, id) DO UPDATE SET created_at = excluded.created_at, \
             instant = excluded.instant, data = excluded.data, extra = excluded.extra, \
             cells = excluded.cells, fetched_at = excluded.fetched_at, deleted_at = NULL \
             RETURNING id) \
             SELECT w.id, k.id IS NOT NULL, coalesce(k.is_same, false) \
             FROM written w LEFT JOIN known k ON k.id = w.id"
        );
        // A statement cannot write a row twice: the last one of an id counts.
        let by_id: HashMap<&str, usize> =
            page.rows.iter().enumerate().map(|(index, row)| (row.id.as_str(), index)).collect();
        let mut indices: Vec<usize> = by_id.values().copied().collect();
        indices.sort_unstable();
        let column = |value: fn(&Submission) -> &str| -> Vec<&str> {
            indices.iter().map(|index| value(&page.rows[*index])).collect()
        };
        let ids = column(|row| row.id.as_str());
        let times = column(|row| row.created_at.as_str());
        let data = column(|row| row.data.as_json());
        let rows = || indices.iter().map(|index| &page.rows[*index]);
        let instants: Vec<i64> = rows().map(|row| row.created_at.unix_micros()).collect();
        let extra: Vec<String> = rows().map(extra_json).collect();
        let cells: Vec<&str> = indices.iter().map(|index| &*encoded[*index].cells).collect();
        let values = typed![
            self.key => INT8, ids => TEXT_ARRAY, times => TEXT_ARRAY, instants => INT8_ARRAY,
            data => TEXT_ARRAY, extra => TEXT_ARRAY, cells => TEXT_ARRAY, page.now => INT8
        ];
        let mut written = PageWritten::default();
        for row in transaction.query_typed(&statement, values).await? {
            let (id, is_known, is_same): (&str, bool, bool) = (row.get(0), row.get(1), row.get(2));
            match (is_known, is_same) {
                (false, _) => written.new += 1,
                (true, false) => written.replaced += 1,
                (true, true) => written.restored += 1,
            }
            written.changed.push(by_id[id]);
        }
        if written.new > 0 {
            let new = i64::try_from(written.new).unwrap_or(i64::MAX);
            let update = format!(
                "UPDATE {} SET rows = rows + $2 WHERE key = $1",
                self.table("formsvc_sources")
            );
            transaction.execute_typed(&update, typed![self.key => INT8, new => INT8]).await?;
        }
        Ok(written)
    }

    pub(super) async fn add_labels(
        &self,
        transaction: &Transaction<'_>,
        labels: &LabelSet,
        page: &EncodedPage,
    ) -> Result<(), Error> {
        let added = &labels.labels()[page.first_new..];
        if added.is_empty() {
            return Ok(());
        }
        let insert = format!(
            "INSERT INTO {} (source, position, label, occurrence, heading, first_instant) \
             SELECT $1, r.* FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[], \
             $6::bigint[]) AS r",
            self.table("formsvc_labels")
        );
        let positions: Vec<i64> =
            (1..).zip(labels.labels()).skip(page.first_new).map(|(position, _)| position).collect();
        let names: Vec<&str> = added.iter().map(|label| &*label.label).collect();
        let occurrences: Vec<i64> = added.iter().map(|label| label.occurrence.into()).collect();
        let headings: Vec<&str> = added.iter().map(|label| &*label.heading).collect();
        let instants: Vec<i64> = added.iter().map(|label| label.first_instant).collect();
        let values = typed![
            self.key => INT8, positions => INT8_ARRAY, names => TEXT_ARRAY,
            occurrences => INT8_ARRAY, headings => TEXT_ARRAY, instants => INT8_ARRAY
        ];
        transaction.execute_typed(&insert, values).await.map(drop)
    }

    pub(super) async fn add_overflows(
        &self,
        transaction: &Transaction<'_>,
        page: &PageToWrite<'_>,
    ) -> Result<(), Error> {
        let insert = format!(
            "INSERT INTO {} VALUES ($1, $2, $3) \
             ON CONFLICT (source, start) DO UPDATE SET description = excluded.description",
            self.table("formsvc_overflows")
        );
        for overflow in page.overflows {
            let (start, description) = (overflow.start().unix_micros(), overflow.to_string());
            let values = typed![self.key => INT8, start => INT8, description => TEXT];
            transaction.execute_typed(&insert, values).await?;
        }
        Ok(())
    }

    pub(super) async fn write_coverage(
        &self,
        transaction: &Transaction<'_>,
        coverage: &Coverage,
    ) -> Result<(), Error> {
        let table = self.table("formsvc_coverage");
        let delete = format!("DELETE FROM {table} WHERE source = $1");
        transaction.execute_typed(&delete, typed![self.key => INT8]).await?;
        let insert = format!(
            "INSERT INTO {table} (source, newest, oldest, resume, completeness) \
             VALUES ($1, $2, $3, $4, $5)"
        );
        for Interval { newest, oldest, resume, completeness } in coverage.intervals() {
            let completeness = completeness.as_str();
            let values = typed![
                self.key => INT8, newest => INT8, oldest => INT8, resume => TEXT, completeness => TEXT
            ];
            transaction.execute_typed(&insert, values).await?;
        }
        Ok(())
    }
}
