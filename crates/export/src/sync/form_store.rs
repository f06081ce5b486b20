//! A form in a database, locked by this process.

use super::ViewChanges;
use super::error::SyncError;
use super::labels::{EncodedPage, LabelSet, RowToEncode};
#[cfg(feature = "postgres")]
use super::postgres::PgForm;
use super::sqlite::SqliteForm;
use crate::store::{PageToWrite, PageWritten};

/// A form of a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormRef<'a> {
    /// The address of the service.
    pub(crate) origin: &'a str,
    pub(crate) id: &'a str,
    pub(crate) title: Option<&'a str>,
}

/// A form in a database, locked by this process until it is dropped.
pub(crate) enum FormStore {
    Sqlite(SqliteForm),
    #[cfg(feature = "postgres")]
    Postgres(PgForm),
}

/// Calls a method of either database.
macro_rules! dispatch {
    ($self:ident, $form:ident => $sqlite:expr, $postgres:expr) => {
        match $self {
            Self::Sqlite($form) => Ok($sqlite?),
            #[cfg(feature = "postgres")]
            Self::Postgres($form) => Ok($postgres.await?),
        }
    };
}

impl FormStore {
    pub(crate) fn view(&self) -> &str {
        match self {
            Self::Sqlite(form) => form.view(),
            #[cfg(feature = "postgres")]
            Self::Postgres(form) => form.view(),
        }
    }

    /// Returns the changes since the last call.
    pub(crate) fn take_changes(&mut self) -> ViewChanges {
        match self {
            Self::Sqlite(form) => std::mem::take(&mut form.changes),
            #[cfg(feature = "postgres")]
            Self::Postgres(form) => std::mem::take(&mut form.changes),
        }
    }

    /// Writes a page with cells, labels and coverage in one transaction.
    pub(crate) async fn write_page(
        &mut self,
        page: &PageToWrite<'_>,
    ) -> Result<PageWritten, SyncError> {
        dispatch!(self, form => form.write_page(page), form.write_page(page))
    }

    /// Returns the number of stored submissions.
    pub(crate) async fn rows(&mut self) -> Result<u64, SyncError> {
        dispatch!(self, form => form.rows(), form.rows())
    }

    pub(crate) async fn overflows(&mut self) -> Result<Vec<String>, SyncError> {
        dispatch!(self, form => form.overflows(), form.overflows())
    }

    /// Returns ids after `after`, in order, of stored submissions that are not marked as deleted and were
    /// stored before a time.
    pub(crate) async fn ids_after(
        &mut self,
        after: &str,
        stored_before: i64,
    ) -> Result<Vec<String>, SyncError> {
        dispatch!(self, form => form.ids_after(after, stored_before), form.ids_after(after, stored_before))
    }

    /// Marks submissions as deleted at the service.
    pub(crate) async fn mark_deleted(&mut self, ids: &[String], now: i64) -> Result<(), SyncError> {
        dispatch!(self, form => form.mark_deleted(ids, now), form.mark_deleted(ids, now))
    }
}

/// Number of ids that [`FormStore::ids_after`] returns, unless fewer are left.
pub(crate) const IDS_MAX: u16 = 1_000;

/// Returns the rows of a page to encode.
pub(crate) fn rows_to_encode<'a>(page: &PageToWrite<'a>) -> Vec<RowToEncode<'a>> {
    let encode = |row: &'a formsvc_client::Submission| RowToEncode {
        data: row.data.as_json(),
        instant: row.created_at.unix_micros(),
    };
    page.rows.iter().map(encode).collect()
}

impl ViewChanges {
    /// Adds the changes of a page; `written` are the indices of its written rows.
    pub(crate) fn add_page(&mut self, labels: &LabelSet, page: &EncodedPage, written: &[usize]) {
        let new = labels.labels().iter().skip(page.first_new);
        self.new_columns.extend(new.map(|label| label.heading.clone()));
        for heading in &page.retyped {
            let is_known =
                self.widened_columns.contains(heading) || self.new_columns.contains(heading);
            if !is_known {
                self.widened_columns.push(heading.clone());
            }
        }
        let rows = || written.iter().map(|index| &page.rows[*index]);
        self.cleaned_rows += rows().filter(|row| row.is_cleaned).count() as u64;
        self.other_answers_rows += rows().filter(|row| row.has_others).count() as u64;
    }
}
