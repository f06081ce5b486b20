//! Writes a page of a form in one transaction.

use formsvc_table::{EncodedRow, LabelSet};
use serde_json::{Value, json};

use super::form::PgForm;
use super::read::read_coverage;
use super::session::get;
use crate::coverage::{Coverage, Interval};
use crate::error::PostgresError;
use crate::store::{PageToWrite, PageWritten, extra_json};

/// Inserts new rows and replaces those with other content.
const WRITE_ROWS: &str = include_str!("write_rows.sql");

impl PgForm {
    pub(crate) async fn write_page(
        &mut self,
        page: &PageToWrite,
    ) -> Result<PageWritten, PostgresError> {
        self.session.begin().await?;
        self.lock_row().await?;
        let mut labels = self.read_labels().await?;
        let encoded = labels.encode(&page.answers());
        let mut written = self.write_rows(page, &encoded).await?;
        self.write_left_out(page).await?;
        written.coverage = read_coverage(&self.session, self.key).await?;
        if let Some(interval) = &page.interval
            && written.coverage.add(interval.clone())
        {
            self.write_coverage(&written.coverage).await?;
        }
        if labels.changed().next().is_some() {
            self.write_labels(&labels).await?;
            self.update_views(&labels).await?;
        }
        self.session.commit().await?;
        self.changes.add_page(&labels, &encoded, &written.changed);
        Ok(written)
    }

    async fn write_rows(
        &self,
        page: &PageToWrite,
        encoded: &[EncodedRow],
    ) -> Result<PageWritten, PostgresError> {
        page.rows.iter().try_for_each(|row| PostgresError::check_id(row.id.as_str()))?;
        let rows = page.rows.iter().zip(encoded).enumerate();
        let rows = records(rows.map(|(index, (row, encoded))| {
            json!({
                "index": index,
                "id": row.id.as_str(),
                "created_at": row.created_at.as_str(),
                "instant": row.created_at.unix_micros(),
                "data": row.data.as_json(),
                "extra": extra_json(row),
                "cells": encoded.cells,
            })
        }));
        let values = typed![self.key => INT8, rows => TEXT, page.now => INT8];
        let mut written = PageWritten::default();
        for row in &self.session.query(WRITE_ROWS, values).await? {
            let index = usize::try_from(get::<i64>(row, 0)?).unwrap_or_default();
            written.add_row(index, get(row, 1)?, get(row, 2)?);
        }
        Ok(written)
    }

    async fn write_labels(&self, labels: &LabelSet) -> Result<(), PostgresError> {
        const UPSERT: &str = "INSERT INTO {t}labels \
             (source, position, label, heading, types) \
             SELECT $1, r.* FROM json_to_recordset($2::json) AS r (position bigint, label text, \
             heading text, types bigint) \
             ON CONFLICT (source, position) DO UPDATE SET types = excluded.types";
        let changed = records(labels.changed().map(|(position, label)| {
            json!({
                "position": position,
                "label": label.label,
                "heading": label.heading,
                "types": label.types.bits(),
            })
        }));
        self.session.query(UPSERT, typed![self.key => INT8, changed => TEXT]).await.map(drop)
    }

    async fn write_left_out(&self, page: &PageToWrite) -> Result<(), PostgresError> {
        const UPSERT: &str = "INSERT INTO {t}left_out VALUES ($1, $2, $3, $4) \
             ON CONFLICT (source, start, item) DO UPDATE SET description = excluded.description";
        for (start, item, description) in page.left_out() {
            let values = typed![self.key => INT8, start => INT8, item => TEXT, description => TEXT];
            self.session.query(UPSERT, values).await?;
        }
        Ok(())
    }

    async fn write_coverage(&self, coverage: &Coverage) -> Result<(), PostgresError> {
        const INSERT: &str = "INSERT INTO {t}coverage VALUES ($1, $2, $3, $4, $5)";
        let delete = "DELETE FROM {t}coverage WHERE source = $1";
        self.session.query(delete, typed![self.key => INT8]).await?;
        for Interval { newest, oldest, resume, completeness } in coverage.intervals() {
            let completeness = completeness.as_str();
            let values = typed![self.key => INT8, newest => INT8, oldest => INT8, resume => TEXT,
                completeness => TEXT];
            self.session.query(INSERT, values).await?;
        }
        Ok(())
    }
}

/// Returns rows for `json_to_recordset`.
fn records(rows: impl Iterator<Item = Value>) -> String {
    Value::Array(rows.collect()).to_string()
}
