//! Removal of captures: those over the limits in small steps, and those that the user selects.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, TransactionBehavior};

use super::StoreLimits;
use super::rows::nanos_since_1970;

/// Captures that one step removes, at most. A delivery never waits for more.
pub(super) const STEP_ROWS: u32 = 64;
/// Captures that one transaction removes on demand. Another process that writes waits for it.
pub(super) const CHUNK_ROWS: usize = 256;
/// Pages that one step returns to the file system.
const STEP_PAGES: u64 = 256;
/// Free pages that remain in the file for the next captures.
const FREE_PAGES_MAX: u64 = 512;

/// Removes expired captures that are among the oldest.
const REMOVE_EXPIRED: &str = "DELETE FROM captures WHERE received_at < ?1 AND
    number IN (SELECT number FROM captures ORDER BY number LIMIT ?2)";
/// Removes the oldest capture unless it is the newest too.
const REMOVE_OLDEST: &str = "DELETE FROM captures WHERE
    number = (SELECT min(number) FROM captures) AND number < (SELECT max(number) FROM captures)";
const REMOVE_OLDEST_UNTRUSTED: &str = "DELETE FROM captures WHERE
    number = (SELECT number FROM captures WHERE NOT is_trusted ORDER BY number LIMIT 1)
    AND number < (SELECT max(number) FROM captures)";

/// The result of removing captures on demand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PruneReport {
    pub removed: u64,
    pub left: u64,
    /// Bytes of the database.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Removes some captures over the limits, or returns free pages to the file system. Returns false if there
/// is nothing more to do.
pub(super) fn step(
    db: &mut Connection,
    limits: StoreLimits,
    now: Timestamp,
) -> rusqlite::Result<bool> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let removed = remove_excess(&transaction, limits, now, STEP_ROWS as usize)?;
    transaction.commit()?;
    Ok(removed > 0 || return_pages(db, FREE_PAGES_MAX)?)
}

/// Removes captures over the limits within a transaction: expired ones, and others until `max` are removed.
/// Returns their number.
pub(super) fn remove_excess(
    db: &Connection,
    limits: StoreLimits,
    now: Timestamp,
    max: usize,
) -> rusqlite::Result<usize> {
    let age = SignedDuration::try_from(limits.age).unwrap_or(SignedDuration::MAX);
    let oldest = nanos_since_1970(now.checked_sub(age).unwrap_or(Timestamp::MIN));
    let mut expired = db.prepare_cached(REMOVE_EXPIRED)?;
    let mut removed = expired.execute((oldest, STEP_ROWS))?;
    while removed < max {
        let sql = if number(db, "SELECT bytes FROM untrusted")? > limits.bytes_of(false) {
            REMOVE_OLDEST_UNTRUSTED
        } else if used_bytes(db)? > limits.bytes {
            REMOVE_OLDEST
        } else {
            break;
        };
        match db.prepare_cached(sql)?.execute([])? {
            0 => break,
            some => removed += some,
        }
    }
    Ok(removed)
}

/// Returns the numbers of all captures, or of those received before a time.
pub(super) fn select(db: &Connection, before: Option<Timestamp>) -> rusqlite::Result<Vec<i64>> {
    let mut select =
        db.prepare("SELECT number FROM captures WHERE ?1 IS NULL OR received_at < ?1")?;
    select.query_map([before.map(nanos_since_1970)], |row| row.get(0))?.collect()
}

/// Removes captures, and overwrites them.
pub(super) fn remove(db: &mut Connection, numbers: &[i64]) -> rusqlite::Result<u64> {
    db.pragma_update(None, "secure_delete", true)?;
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut delete = transaction.prepare_cached("DELETE FROM captures WHERE number = ?1")?;
    let mut removed = 0;
    for number in numbers {
        removed += delete.execute([number])? as u64;
    }
    drop(delete);
    transaction.commit()?;
    db.pragma_update(None, "secure_delete", false)?;
    Ok(removed)
}

/// Counts captures.
pub(super) fn count(db: &Connection) -> rusqlite::Result<u64> {
    number(db, "SELECT count(*) FROM captures")
}

/// Returns the bytes of the database.
pub(super) fn total_bytes(db: &Connection) -> rusqlite::Result<u64> {
    Ok(number(db, "PRAGMA page_count")? * number(db, "PRAGMA page_size")?)
}

fn used_bytes(db: &Connection) -> rusqlite::Result<u64> {
    let free = number(db, "PRAGMA freelist_count")? * number(db, "PRAGMA page_size")?;
    Ok(total_bytes(db)?.saturating_sub(free))
}

/// Returns some free pages to the file system, but leaves `keep` of them. Returns false if there are no more.
pub(super) fn return_pages(db: &Connection, keep: u64) -> rusqlite::Result<bool> {
    let excess = number(db, "PRAGMA freelist_count")?.saturating_sub(keep);
    if excess == 0 {
        return Ok(false);
    }
    // A row for each page.
    let pages = excess.min(STEP_PAGES);
    let mut vacuum = db.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(excess > STEP_PAGES)
}

/// Copies the write-ahead log to the database, so that no removed capture remains in it. Another process
/// that reads or writes may prevent that.
pub(super) fn truncate_log(db: &Connection) -> rusqlite::Result<()> {
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}

fn number(db: &Connection, sql: &str) -> rusqlite::Result<u64> {
    db.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
