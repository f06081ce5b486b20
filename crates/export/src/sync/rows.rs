//! The stored submissions of a form, to render them without a request.

use formsvc_client::Completeness;
use tempfile::TempPath;

use super::error::SyncError;
use super::target::Location;
use super::{SyncStatus, SyncStore};
use crate::error::ExportError;
use crate::row::{RowCallback, RowSource};
use crate::spool::SpoolFolder;
use crate::store::{RowRange, RowStore, SourceKey};

/// The stored submissions of a form within a range. All reads see the same rows, also while another
/// process writes.
#[derive(Debug)]
#[non_exhaustive]
pub struct FormRows {
    /// The address of the service.
    pub origin: String,
    /// The form.
    pub form_id: String,
    /// Its title.
    pub title: Option<String>,
    /// Whether submissions could be missing: `Incomplete` if the database has no interval down to the
    /// start of the range.
    pub completeness: Completeness,
    /// Whether every submission of the range is stored, as far as it was made before the last run.
    pub is_covered: bool,
    store: RowStore,
    source: SourceKey,
    range: RowRange,
    /// A copy of the rows, which is removed with this value.
    _copy: Option<TempPath>,
}

impl RowSource for FormRows {
    fn for_each(&self, row: RowCallback<'_>) -> Result<(), ExportError> {
        self.store.read_rows(self.source, self.range, row)
    }
}

impl SyncStore {
    /// Returns the submissions of a form within a range. `origin` is needed only if the database has
    /// the form of several services.
    ///
    /// The rows of a PostgreSQL database are copied into a private file in the folder `temporary`.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "same signature"))]
    pub async fn rows(
        &self,
        origin: Option<&str>,
        form: &str,
        range: RowRange,
        temporary: &SpoolFolder,
    ) -> Result<FormRows, ExportError> {
        let form = find(self.status().await?, origin, form)?;
        let (store, source, copy) = match &self.location {
            Location::Sqlite(path) => {
                let store = RowStore::open_read_only(path)?;
                store.begin_read()?;
                (store, SourceKey(form.key), None)
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => {
                let (mut store, path) = RowStore::temporary(temporary)?;
                let source = store.source(&form.origin, &form.form_id, form.title.as_deref())?;
                super::postgres::copy_rows(address, form.key, range, &store, source).await?;
                (store, source, path)
            }
        };
        let is_covered = form.coverage.reaches(range.since);
        let stored = form.coverage.intervals().first().map(|newest| newest.completeness);
        let completeness = if is_covered { stored } else { None };
        Ok(FormRows {
            origin: form.origin,
            form_id: form.form_id,
            title: form.title,
            completeness: completeness.unwrap_or(Completeness::Incomplete),
            is_covered,
            store,
            source,
            range,
            _copy: copy,
        })
    }
}

/// Returns the form with this id.
fn find(forms: Vec<SyncStatus>, origin: Option<&str>, form: &str) -> Result<SyncStatus, SyncError> {
    let is_wanted = |known: &SyncStatus| {
        known.form_id == form && origin.is_none_or(|origin| known.origin == origin)
    };
    let mut found: Vec<_> = forms.into_iter().filter(is_wanted).collect();
    if found.len() > 1 {
        let origins = found.into_iter().map(|form| form.origin).collect();
        return Err(SyncError::AmbiguousForm { form: form.to_owned(), origins });
    }
    found.pop().ok_or_else(|| SyncError::UnknownForm { form: form.to_owned() })
}
