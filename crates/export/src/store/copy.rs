//! Private copies of rows from another database.

use rusqlite::params;
use tempfile::TempPath;

use super::{RowStore, SourceKey, StoreError};
use crate::spool::SpoolFolder;
use formsvc_table::StoredRow;

impl RowStore {
    /// Creates a store in a private file that disappears with this process. Elsewhere than on Unix the
    /// file is removed with the returned path.
    pub(crate) fn temporary(folder: &SpoolFolder) -> Result<(Self, Option<TempPath>), StoreError> {
        folder.create()?;
        let failed = |error| StoreError::io(folder.path(), error);
        let file = tempfile::Builder::new().prefix("copy-").tempfile_in(folder.path());
        let path = file.map_err(failed)?.into_temp_path();
        let store = Self::open(&path)?;
        // Without a journal SQLite needs no name of the file. The exclusive mode comes last, because it
        // keeps a journal that exists.
        let pragmas = "PRAGMA journal_mode=DELETE; PRAGMA journal_mode=OFF; \
                       PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;";
        store.connection().execute_batch(pragmas).map_err(|error| store.failed(error))?;
        if cfg!(unix) {
            path.close().map_err(failed)?;
            return Ok((store, None));
        }
        Ok((store, Some(path)))
    }

    pub(crate) fn begin_copy(&self) -> Result<(), StoreError> {
        self.connection().execute_batch("BEGIN").map_err(|error| self.failed(error))
    }

    /// Adds a row between [`begin_copy`](Self::begin_copy) and [`end_copy`](Self::end_copy).
    pub(crate) fn copy_row(
        &self,
        source: SourceKey,
        row: &StoredRow<'_>,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "INSERT INTO submissions \
             (source, id, created_at, instant, data, extra, fetched_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)";
        let StoredRow { id, created_at, instant, data, extra } = row;
        let values = params![source.0, id, created_at, instant, data, extra];
        let insert = || self.connection().prepare_cached(INSERT)?.execute(values);
        insert().map(drop).map_err(|error| self.failed(error))
    }

    pub(crate) fn end_copy(&self) -> Result<(), StoreError> {
        self.connection().execute_batch("COMMIT").map_err(|error| self.failed(error))
    }
}
