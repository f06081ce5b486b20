//! What is over the caps goes, the oldest first, in steps so small that no delivery waits for them.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rusqlite::Connection;

use super::caps::Caps;
use super::log;
use super::open::PAGE_SIZE;
use super::rows::instant;

/// Captures that one step removes, at most.
const STEP: usize = 64;
/// Captures that go before it is looked again whether there is still too much.
const FEW: usize = 8;
/// Free pages that stay for what comes next, 2 MiB; the rest of the file is given back.
const FREE_MAX: i64 = (2 << 20) / PAGE_SIZE as i64;
/// Pages given back in one step, 512 KiB.
const GIVEN_BACK: i64 = (512 << 10) / PAGE_SIZE as i64;
/// Time between two looks at ages.
const AGE_PAUSE: Duration = Duration::from_secs(60);

/// Keeps a store within its caps.
pub(super) struct Pruner {
    caps: Caps,
    now: fn() -> Timestamp,
    /// When ages are looked at next.
    ages_at: Instant,
    /// Whether there was nothing to do since the last request.
    resting: bool,
    /// The number that nothing unproven, and the one that nothing proven, is older than: what stands before
    /// it need not be looked through again. Numbers only grow, and what is proven stays so.
    oldest: [i64; 2],
}

impl Pruner {
    pub(super) fn new(caps: Caps, now: fn() -> Timestamp) -> Self {
        Self { caps, now, ages_at: Instant::now(), resting: false, oldest: [0; 2] }
    }

    /// Inside the transaction that added so many: twice as many may go, while there is too much.
    pub(super) fn make_room(&mut self, db: &Connection, added: usize) -> rusqlite::Result<()> {
        let mut removed = self.remove_surplus(db, added.saturating_mul(2).max(STEP))? > 0;
        if self.ages_at <= Instant::now() {
            self.remove_old(db)?;
            removed = true;
        }
        // There may be more to remove, or room to give back.
        self.resting &= !removed;
        Ok(())
    }

    /// What was removed last is there again.
    pub(super) fn rolled_back(&mut self) {
        self.oldest = [0; 2];
    }

    /// One step while nothing else is to be done; how long the next one has time.
    pub(super) fn step(&mut self, db: &Connection) -> Duration {
        if self.resting && self.ages_at > Instant::now() {
            return self.ages_at.saturating_duration_since(Instant::now());
        }
        match self.try_step(db) {
            Ok(true) => Duration::ZERO,
            Ok(false) => {
                self.resting = true;
                self.ages_at.saturating_duration_since(Instant::now())
            }
            Err(error) => {
                tracing::warn!(%error, "captures over the caps are not removed now");
                self.resting = true;
                self.ages_at = Instant::now() + AGE_PAUSE;
                AGE_PAUSE
            }
        }
    }

    /// Whether there is more to do.
    fn try_step(&mut self, db: &Connection) -> rusqlite::Result<bool> {
        if self.remove_surplus(db, STEP)? > 0 {
            return Ok(true);
        }
        if self.ages_at <= Instant::now() && self.remove_old(db)? {
            return Ok(true);
        }
        give_back(db, FREE_MAX)
    }

    /// Removes the oldest while there is too much, of each kind in its own part of the room, and so many at
    /// most; how many. The newest of each stays, however large it is.
    fn remove_surplus(&mut self, db: &Connection, most: usize) -> rusqlite::Result<usize> {
        let mut removed = 0;
        for proven in [false, true] {
            while removed < most && self.is_over(db, proven)? {
                match self.remove_oldest(db, proven, FEW)? {
                    0 => break,
                    more => removed += more,
                }
            }
        }
        Ok(removed)
    }

    /// Removes some of the oldest of a kind, but never its newest; how many.
    fn remove_oldest(
        &mut self,
        db: &Connection,
        proven: bool,
        most: usize,
    ) -> rusqlite::Result<usize> {
        let mut numbers = db.prepare_cached(if proven {
            "SELECT number FROM captures WHERE proven AND number >= ?1 ORDER BY number LIMIT ?2"
        } else {
            "SELECT number FROM captures WHERE NOT proven AND number >= ?1 ORDER BY number LIMIT ?2"
        })?;
        let oldest = &mut self.oldest[usize::from(proven)];
        // One more, which stays.
        let asked = i64::try_from(most + 1).unwrap_or(i64::MAX);
        let numbers = numbers.query_map((*oldest, asked), |row| row.get(0))?;
        let numbers = numbers.collect::<Result<Vec<i64>, _>>()?;
        let [first, ..] = numbers[..] else { return Ok(0) };
        *oldest = first;
        remove(db, &numbers[..numbers.len() - 1])
    }

    fn is_over(&self, db: &Connection, proven: bool) -> rusqlite::Result<bool> {
        let mut bytes = read(db, "SELECT unproven FROM counters")?;
        if proven {
            let used = read(db, "PRAGMA page_count")? - read(db, "PRAGMA freelist_count")?;
            bytes = used.saturating_mul(read(db, "PRAGMA page_size")?).saturating_sub(bytes);
        }
        Ok(bytes > i64::try_from(self.caps.part(proven)).unwrap_or(i64::MAX))
    }

    /// Removes a few of those that are too old. True if there may be more.
    fn remove_old(&mut self, db: &Connection) -> rusqlite::Result<bool> {
        let age = SignedDuration::try_from(self.caps.age).unwrap_or(SignedDuration::MAX);
        let before = (self.now)().checked_sub(age).unwrap_or(Timestamp::MIN);
        let removed = remove_before(db, before, STEP)?;
        if removed == STEP {
            return Ok(true);
        }
        self.ages_at = Instant::now() + AGE_PAUSE;
        Ok(false)
    }
}

/// What was removed on demand, and what is left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pruned {
    pub(crate) removed: u64,
    pub(crate) left: u64,
    /// Length of the file.
    pub(crate) bytes_before: u64,
    pub(crate) bytes_after: u64,
}

/// Captures that one transaction removes on demand: a listener that writes waits for it.
const ON_DEMAND: i64 = 256;

/// Removes what came before a time, or everything; or only counts it. What was there is overwritten.
pub(super) fn prune(
    db: &Connection,
    before: Option<Timestamp>,
    dry_run: bool,
) -> rusqlite::Result<Pruned> {
    let before = before.map(instant);
    let count = |sql| {
        let count = db.prepare(sql)?.query_row([before], |row| row.get::<_, i64>(0))?;
        Ok::<_, rusqlite::Error>(count.unsigned_abs())
    };
    let bytes = || {
        let pages = read(db, "PRAGMA page_count")?;
        Ok::<_, rusqlite::Error>((pages * read(db, "PRAGMA page_size")?).unsigned_abs())
    };
    let mut pruned = Pruned { bytes_before: bytes()?, ..Pruned::default() };
    if dry_run {
        pruned.removed = count("SELECT count(*) FROM captures WHERE ?1 IS NULL OR at < ?1")?;
    } else {
        db.pragma_update(None, "secure_delete", true)?;
        loop {
            match remove_some(db, before)? {
                0 => break,
                removed => pruned.removed += removed as u64,
            }
            // On a disk that is all but full there is no room for a long one.
            log::move_some(db)?;
        }
        while give_back(db, 0)? {
            log::move_some(db)?;
        }
        // What was removed stands in the log as well. Whoever reads it now is not waited for.
        log::empty(db)?;
    }
    let all = count("SELECT count(*) FROM captures WHERE ?1 IS ?1")?;
    pruned.left = if dry_run { all - pruned.removed } else { all };
    pruned.bytes_after = bytes()?;
    Ok(pruned)
}

/// Removes a few that came before a time, in a transaction of their own; how many.
fn remove_some(db: &Connection, before: Option<i64>) -> rusqlite::Result<usize> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    let removed = (|| {
        let mut numbers =
            db.prepare_cached("SELECT number FROM captures WHERE ?1 IS NULL OR at < ?1 LIMIT ?2")?;
        let numbers = numbers.query_map((before, ON_DEMAND), |row| row.get::<_, i64>(0))?;
        let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
        let removed = remove(db, &numbers)?;
        db.execute_batch("COMMIT")?;
        Ok(removed)
    })();
    if removed.is_err() && !db.is_autocommit() {
        // Fails only when the transaction is gone already.
        let _ = db.execute_batch("ROLLBACK");
    }
    removed
}

/// Removes these; how many there were.
fn remove(db: &Connection, numbers: &[i64]) -> rusqlite::Result<usize> {
    for number in numbers {
        for sql in [
            "DELETE FROM forwards WHERE number = ?1",
            "DELETE FROM outcomes WHERE number = ?1",
            "DELETE FROM captures WHERE number = ?1",
        ] {
            db.prepare_cached(sql)?.execute([number])?;
        }
    }
    Ok(numbers.len())
}

/// Removes at most so many of those that came before a time, from the oldest number up to the first
/// that is newer; how many.
pub(super) fn remove_before(
    db: &Connection,
    before: Timestamp,
    most: usize,
) -> rusqlite::Result<usize> {
    let (mut up_to, mut count) = (None, 0);
    let mut select =
        db.prepare_cached("SELECT number, at FROM captures ORDER BY number LIMIT ?1")?;
    let mut rows = select.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
    while let Some(row) = rows.next()? {
        if row.get::<_, i64>(1)? >= instant(before) {
            break;
        }
        up_to = Some(row.get(0)?);
        count += 1;
    }
    drop(rows);
    if let Some(up_to) = up_to {
        remove_up_to(db, up_to)?;
    }
    Ok(count)
}

fn remove_up_to(db: &Connection, number: i64) -> rusqlite::Result<usize> {
    for sql in
        ["DELETE FROM forwards WHERE number <= ?1", "DELETE FROM outcomes WHERE number <= ?1"]
    {
        db.prepare_cached(sql)?.execute([number])?;
    }
    db.prepare_cached("DELETE FROM captures WHERE number <= ?1")?.execute([number])
}

/// Gives free pages at the end of the file back, a few at a time; whether there are more than stay.
pub(super) fn give_back(db: &Connection, stay: i64) -> rusqlite::Result<bool> {
    let free = read(db, "PRAGMA freelist_count")? - stay;
    if free <= 0 {
        return Ok(false);
    }
    // A row for each page.
    let mut step = db.prepare(&format!("PRAGMA incremental_vacuum({})", free.min(GIVEN_BACK)))?;
    let mut rows = step.query([])?;
    while rows.next()?.is_some() {}
    Ok(free > GIVEN_BACK)
}

fn read(db: &Connection, sql: &str) -> rusqlite::Result<i64> {
    db.prepare_cached(sql)?.query_row([], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::super::{open, rows, tests::received};
    use super::*;

    /// How many are left, and the oldest of them.
    fn left(db: &Connection) -> (i64, i64) {
        let sql = "SELECT count(*), min(number) FROM captures";
        db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap()
    }

    #[test]
    fn what_is_there_again_after_a_rollback_is_the_oldest_again() {
        let db = open::memory().unwrap();
        let kept = received(Timestamp::now(), vec![b'x'; 4_096]);
        rows::insert(&db, std::iter::repeat_n(&kept, 200)).unwrap();
        let caps = Caps { size: 400 << 10, ..Caps::default() };
        let mut pruner = Pruner::new(caps, Timestamp::now);
        db.execute_batch("BEGIN").unwrap();
        pruner.make_room(&db, 1).unwrap();
        let (count, oldest) = left(&db);
        assert!(oldest > 1 && count == 201 - oldest, "{count} from {oldest}");
        db.execute_batch("ROLLBACK").unwrap();
        pruner.rolled_back();
        assert_eq!(left(&db), (200, 1));
        for _ in 0..8 {
            pruner.make_room(&db, 1).unwrap();
        }
        let (count, oldest) = left(&db);
        assert!(oldest > 100 && count == 201 - oldest, "{count} from {oldest}");
    }
}
