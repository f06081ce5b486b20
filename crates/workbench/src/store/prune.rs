//! Removes captures: those over the limits in small steps, and on demand those that the user selects.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, TransactionBehavior};

use super::StoreLimits;
use super::rows::nanos_since_1970;

/// A write removes up to this many captures over the limits, and more only to make room for itself. The number is
/// greater than one, so that the size of the store converges to the limit.
pub(super) const WRITE_ROWS: u32 = 8;
/// Maximum number of captures that one step removes for each limit.
const STEP_ROWS: u32 = 64;
/// Maximum number of captures that one transaction of [`prune`] removes. Writes of other processes wait for that
/// transaction.
const CHUNK_ROWS: usize = 256;
/// Maximum number of pages that one step returns to the file system.
const STEP_PAGES: u64 = 256;
/// Free pages that remain in the file for the next captures.
const MAX_FREE_PAGES: u64 = 512;

/// Removes expired captures that are among the oldest `?2` captures.
const REMOVE_EXPIRED: &str = "DELETE FROM captures WHERE received_at < ?1 AND
    number IN (SELECT number FROM captures ORDER BY number LIMIT ?2)";
/// Removes the oldest capture, unless the store contains only one capture.
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
    /// Size of the database, in bytes.
    pub bytes_before: u64,
    pub bytes_after: u64,
}

/// Bytes that captures use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    total: u64,
    untrusted: u64,
}

impl Usage {
    const MAX: Self = Self { total: u64::MAX, untrusted: u64::MAX };

    pub(super) fn read(db: &Connection) -> rusqlite::Result<Self> {
        let untrusted = number(db, "SELECT bytes FROM untrusted")?;
        Ok(Self { total: used_bytes(db)?, untrusted })
    }
}

/// Removes some captures over the limits. If no capture is over the limits, returns some free pages to the file system.
/// Returns false if nothing remains to be done.
pub(super) fn step(db: &mut Connection, limits: StoreLimits) -> rusqlite::Result<bool> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let expired = remove_expired(&transaction, limits)?;
    let excess = remove_excess(&transaction, limits, Usage::MAX, STEP_ROWS)?;
    transaction.commit()?;
    Ok(expired || excess || return_pages(db, MAX_FREE_PAGES)?)
}

/// Removes some expired captures within a transaction. Returns true if there were any.
pub(super) fn remove_expired(db: &Connection, limits: StoreLimits) -> rusqlite::Result<bool> {
    let age = SignedDuration::try_from(limits.age).unwrap_or(SignedDuration::MAX);
    let oldest = Timestamp::now().checked_sub(age).unwrap_or(Timestamp::MIN);
    let removed =
        db.prepare_cached(REMOVE_EXPIRED)?.execute((nanos_since_1970(oldest), STEP_ROWS))?;
    Ok(removed > 0)
}

/// Removes the oldest captures within a transaction until the rest meets the limits, or until `rows` are removed and
/// the usage is not above `before`, the usage before the write. So a write never increases the excess over a limit, and
/// an earlier excess is removed in small steps. Returns true if a capture was removed.
pub(super) fn remove_excess(
    db: &Connection,
    limits: StoreLimits,
    before: Usage,
    rows: u32,
) -> rusqlite::Result<bool> {
    let mut removed = 0;
    loop {
        let max = |limit: u64, before: u64| if removed < rows { limit } else { limit.max(before) };
        let usage = Usage::read(db)?;
        let sql = if usage.untrusted > max(limits.share(false), before.untrusted) {
            REMOVE_OLDEST_UNTRUSTED
        } else if usage.total > max(limits.bytes, before.total) {
            REMOVE_OLDEST
        } else {
            return Ok(removed > 0);
        };
        // Each statement removes one capture, but never the newest.
        if db.prepare_cached(sql)?.execute([])? == 0 {
            return Ok(removed > 0);
        }
        removed += 1;
    }
}

/// Removes all captures, or those received before a time. With `dry_run`, only counts the captures.
pub(super) fn prune(
    db: &mut Connection,
    before: Option<Timestamp>,
    dry_run: bool,
) -> rusqlite::Result<PruneReport> {
    let mut select =
        db.prepare("SELECT number FROM captures WHERE ?1 IS NULL OR received_at < ?1")?;
    let numbers = select.query_map([before.map(nanos_since_1970)], |row| row.get(0))?;
    let numbers = numbers.collect::<rusqlite::Result<Vec<i64>>>()?;
    drop(select);
    let (mut removed, bytes_before) = (numbers.len() as u64, total_bytes(db)?);
    let mut left = number(db, "SELECT count(*) FROM captures")?.saturating_sub(removed);
    if !dry_run {
        removed = 0;
        for chunk in numbers.chunks(CHUNK_ROWS) {
            let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for number in chunk {
                let sql = "DELETE FROM captures WHERE number = ?1";
                removed += transaction.prepare_cached(sql)?.execute([number])? as u64;
            }
            transaction.commit()?;
        }
        while return_pages(db, 0)? {}
        // The write-ahead log contains removed captures, so truncate it. The truncation has no effect while another
        // process reads.
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        left = number(db, "SELECT count(*) FROM captures")?;
    }
    Ok(PruneReport { removed, left, bytes_before, bytes_after: total_bytes(db)? })
}

fn total_bytes(db: &Connection) -> rusqlite::Result<u64> {
    Ok(number(db, "PRAGMA page_count")? * number(db, "PRAGMA page_size")?)
}

fn used_bytes(db: &Connection) -> rusqlite::Result<u64> {
    let pages = number(db, "PRAGMA page_count")? - number(db, "PRAGMA freelist_count")?;
    Ok(pages * number(db, "PRAGMA page_size")?)
}

/// Returns some free pages to the file system, but keeps `keep` free pages. Returns true if there are more.
fn return_pages(db: &Connection, keep: u64) -> rusqlite::Result<bool> {
    let excess = number(db, "PRAGMA freelist_count")?.saturating_sub(keep);
    if excess == 0 {
        return Ok(false);
    }
    // The statement returns a row for each page, and frees pages only while its rows are read.
    let pages = excess.min(STEP_PAGES);
    let mut vacuum = db.prepare(&format!("PRAGMA incremental_vacuum({pages})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    // A database in memory keeps its free pages.
    Ok(excess > STEP_PAGES && number(db, "PRAGMA freelist_count")? < keep + excess)
}

fn number(db: &Connection, sql: &str) -> rusqlite::Result<u64> {
    db.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}
