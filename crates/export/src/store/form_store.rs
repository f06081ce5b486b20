//! The store of a form's submissions that pages are written to.

use std::path::PathBuf;

use formsvc_table::{EncodedRow, LabelSet};

#[cfg(feature = "postgres")]
use super::postgres::PgForm;
use super::rows::SeenIds;
use super::sqlite::SqliteForm;
use crate::blocking::{Blocking, run_blocking};
use crate::error::ExportError;
use crate::left_out::LeftOut;
use crate::store::{PageToWrite, PageWritten, RowRange};

/// A form of a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormRef<'a> {
    /// The address of the service.
    pub(crate) origin: &'a str,
    pub(crate) id: &'a str,
    pub(crate) title: Option<&'a str>,
    pub(crate) public_id: Option<&'a str>,
}

/// The submissions of a form. SQLite is used on blocking threads. After an error it must be dropped.
pub(crate) enum FormStore {
    Sqlite(Blocking<SqliteForm>),
    #[cfg(feature = "postgres")]
    Postgres(Box<PgForm>),
}

/// The end of a run.
#[derive(Debug, Default)]
pub(crate) struct Finished {
    /// The name of the form's view.
    pub(crate) view: String,
    pub(crate) changes: ViewChanges,
    /// The write-ahead log of an SQLite database, if it could not be moved into the file.
    pub(crate) log: Option<PathBuf>,
}

/// Calls a method of the database that needs no cells.
macro_rules! dispatch {
    ($self:ident, $method:ident($($value:expr),*)) => {
        match $self {
            Self::Sqlite(form) => {
                Ok(form.run(move |form| form.store.$method(form.source, $($value),*)).await?)
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(form) => Ok(form.$method($($value),*).await?),
        }
    };
}

impl FormStore {
    /// Completes a run and ends the lock.
    pub(crate) async fn finish(self) -> Result<Finished, ExportError> {
        match self {
            Self::Sqlite(form) => {
                // Writing the log and closing the database wait for the disk.
                let finish = move || {
                    let Some(form) = form.into_inner() else { return Ok(Finished::default()) };
                    let log = form.store.checkpoint()?;
                    Ok(Finished { view: form.view.unwrap_or_default(), changes: form.changes, log })
                };
                run_blocking(finish).await
            }
            #[cfg(feature = "postgres")]
            Self::Postgres(form) => Ok(form.finish().await?),
        }
    }

    /// Writes a page and its coverage in one transaction, with its cells and labels if there is a view.
    /// Without PostgreSQL, the transaction is completed also if this future is dropped.
    pub(crate) async fn write_page(
        &mut self,
        page: PageToWrite,
    ) -> Result<PageWritten, ExportError> {
        match self {
            Self::Sqlite(form) => Ok(form.run(move |form| form.write_page(&page)).await?),
            #[cfg(feature = "postgres")]
            Self::Postgres(form) => Ok(form.write_page(&page).await?),
        }
    }

    /// Returns the number of stored submissions, without those that are marked as deleted.
    pub(crate) async fn total(&mut self) -> Result<u64, ExportError> {
        dispatch!(self, total())
    }

    /// Counts the submissions within a range, up to `max`.
    pub(crate) async fn count(&mut self, range: RowRange, max: u64) -> Result<u64, ExportError> {
        dispatch!(self, count(range, max))
    }

    /// Returns the submissions that the stored pages leave out.
    pub(crate) async fn left_out(&mut self) -> Result<LeftOut, ExportError> {
        dispatch!(self, left_out())
    }

    /// Returns the stored submissions that are not in a list, without those that are marked as deleted
    /// and those that were stored at this time or later.
    pub(crate) async fn ids_without(
        &mut self,
        seen: SeenIds,
        stored_before: i64,
    ) -> Result<Vec<String>, ExportError> {
        dispatch!(self, ids_without(&seen, stored_before))
    }

    /// Records that no submission is missing in the intervals that end at this time or before.
    pub(crate) async fn set_proven(&mut self, until: i64) -> Result<(), ExportError> {
        dispatch!(self, set_proven(until))
    }

    /// Marks submissions as deleted at the service.
    pub(crate) async fn mark_deleted(
        &mut self,
        ids: Vec<String>,
        now: i64,
    ) -> Result<(), ExportError> {
        dispatch!(self, mark_deleted(&ids, now))
    }

    /// Removes the submissions that are marked as deleted, and returns their number.
    pub(crate) async fn purge_deleted(&mut self) -> Result<u64, ExportError> {
        dispatch!(self, purge_deleted())
    }
}

/// Changes of a view and of its cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ViewChanges {
    /// Columns that were added.
    pub new_columns: Vec<String>,
    /// Submissions with a character that the database refuses: NUL or a lone surrogate. It is replaced
    /// by U+FFFD in cells, and exact in `data`.
    pub cleaned_rows: u64,
    /// Why a view lacks columns or has others than it should, and how to allow the change.
    pub outdated: Vec<String>,
    /// Submissions with an answer that is null in the typed view of a PostgreSQL database, because the
    /// column has a narrower type and could not be replaced.
    pub unfit_rows: u64,
}

impl ViewChanges {
    /// Adds the changes of a page; `written` are the indices of its written rows.
    pub(crate) fn add_page(&mut self, labels: &LabelSet, page: &[EncodedRow], written: &[usize]) {
        self.new_columns.extend(labels.added().iter().map(|label| label.heading.clone()));
        let cleaned = written.iter().filter(|index| page[**index].is_cleaned);
        self.cleaned_rows += cleaned.count() as u64;
    }
}
