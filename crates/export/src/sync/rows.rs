//! The stored submissions of a form, to render them without a request.

use formsvc_client::Completeness;
use tempfile::TempPath;

use super::SyncStore;
use super::target::Location;
use crate::blocking::run_blocking;
use crate::error::{ExportError, StoreError};
use crate::row::{RowCallback, RowSource};
use crate::spool::SpoolFolder;
use crate::store::{RowRange, RowStore, SourceKey, SyncStatus};

/// The stored submissions of a form within a range. All reads see the same rows, also while another
/// process writes.
#[derive(Debug)]
#[non_exhaustive]
pub struct FormRows {
    /// Whether submissions could be missing: `Incomplete` if the database has no interval down to the
    /// start of the range.
    pub completeness: Completeness,
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
    /// Returns the submissions of a form within a range. `form` must be a description of this database
    /// by [`status`](Self::status).
    ///
    /// The rows of a PostgreSQL database are copied into a private file in the folder `temporary`.
    #[cfg_attr(not(feature = "postgres"), expect(unused_variables, reason = "same signature"))]
    pub async fn rows(
        &self,
        form: &SyncStatus,
        range: RowRange,
        temporary: &SpoolFolder,
    ) -> Result<FormRows, ExportError> {
        let (store, source, copy) = match &self.location {
            Location::Sqlite(path) => {
                let (path, deadline) = (path.clone(), self.deadline);
                let open = move || {
                    let store = RowStore::open_read_only(&path, deadline)?;
                    store.begin_read()?;
                    Ok::<_, StoreError>(store)
                };
                (run_blocking(open).await?, SourceKey(form.key), None)
            }
            #[cfg(feature = "postgres")]
            Location::Postgres(address) => {
                let (mut store, path) = {
                    temporary.create()?;
                    RowStore::temporary(temporary.path())?
                };
                let source = store.source(&form.origin, &form.form_id, form.title.as_deref())?;
                crate::store::postgres::copy_rows(address, form.key, range, &store, source).await?;
                (store, source, path)
            }
        };
        let covered = form.coverage.intervals().first().filter(|part| part.oldest <= range.since);
        let completeness =
            covered.map_or(Completeness::Incomplete, |interval| interval.completeness);
        Ok(FormRows { completeness, store, source, range, _copy: copy })
    }
}
