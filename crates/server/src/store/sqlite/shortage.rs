//! A full disk without a disk that is full, for tests of the whole.

use rusqlite::Connection;

use super::SqliteStore;
use crate::store::StoreError;

impl SqliteStore {
    /// Has the database take no more room than it has, or as much as it likes again. What needs more
    /// fails as on a full disk.
    pub async fn set_full(&self, full: bool) -> Result<(), StoreError> {
        loop {
            let set = self.writer.run(move |db| set_full(db, full)).await;
            // It may share a transaction with a write for which there is no room.
            if !matches!(set, Err(StoreError::Unavailable(Some(_)))) {
                return set;
            }
        }
    }
}

fn set_full(db: &Connection, full: bool) -> Result<(), StoreError> {
    // A limit below the size of the database is its size.
    let pages = if full { 1 } else { u32::MAX - 1 };
    db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    Ok(())
}
