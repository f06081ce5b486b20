//! A full disk without a disk that is full, for tests of the whole.

use super::SqliteStore;
use crate::store::StoreError;

impl SqliteStore {
    /// Has the database take no more room than it has, or as much as it likes again. What needs more
    /// fails as on a full disk.
    pub async fn set_full(&self, full: bool) -> Result<(), StoreError> {
        // A limit below the size of the database is its size.
        let pages = if full { 1 } else { u32::MAX - 1 };
        let set = move |db: &rusqlite::Connection| {
            db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
            Ok(())
        };
        self.writer.run(set).await
    }
}
