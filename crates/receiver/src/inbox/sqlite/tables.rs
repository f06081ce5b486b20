//! What is done to the tables, each within a transaction of the caller's. Times are milliseconds.

use rusqlite::{OptionalExtension, params};

use super::tx::Tx;
use crate::inbox::{ClaimToken, Pending, Recorded, Scope};

type Result<T> = rusqlite::Result<T>;

/// The end of a mark that is queued.
const NEVER: i64 = i64::MAX;
/// How long a claim is kept whose lease has ended: its handler may still complete it.
const CLAIM_KEPT: i64 = 24 * 3_600 * 1_000;

pub(super) enum Claimed {
    Acquired { fence: i64 },
    Duplicate,
    InFlight { until: i64 },
}

fn is_marked(tx: &Tx<'_>, scope: &Scope, key: &str, now: i64) -> Result<bool> {
    tx.sql("SELECT 1 FROM formsvc_inbox_marks WHERE scope = ?1 AND key = ?2 AND until_ms > ?3")?
        .exists(params![scope.name(), key.as_bytes(), now])
}

/// The end of the lease of a claim, which may have come.
fn claimed_until(tx: &Tx<'_>, scope: &Scope, key: &str) -> Result<Option<i64>> {
    tx.sql("SELECT until_ms FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2")?
        .query_row(params![scope.name(), key.as_bytes()], |row| row.get(0))
        .optional()
}

pub(super) fn claim(
    tx: &Tx<'_>,
    scope: &Scope,
    key: &str,
    now: i64,
    lease: i64,
) -> Result<Claimed> {
    let fence = tx.next_fence()?;
    let (name, until) = (scope.name(), now.saturating_add(lease));
    // One statement for what nearly all are: new.
    let changed = tx
        .sql(
            "INSERT INTO formsvc_inbox_claims AS was SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS
                 (SELECT 1 FROM formsvc_inbox_marks WHERE scope = ?1 AND key = ?2 AND until_ms > ?5)
             ON CONFLICT DO UPDATE SET fence = excluded.fence, until_ms = excluded.until_ms
                 WHERE was.until_ms <= ?5",
        )?
        .execute(params![name, key.as_bytes(), fence, until, now])?;
    if changed > 0 {
        tx.take_fence();
        return Ok(Claimed::Acquired { fence });
    }
    if is_marked(tx, scope, key, now)? {
        return Ok(Claimed::Duplicate);
    }
    Ok(Claimed::InFlight { until: claimed_until(tx, scope, key)?.unwrap_or(now) })
}

/// `false` when the claim is lost, here and below.
pub(super) fn extend(tx: &Tx<'_>, held: &ClaimToken, until: i64) -> Result<bool> {
    let changed = if let Some(place) = held.place() {
        tx.sql("UPDATE formsvc_inbox_queue SET due_ms = ?3 WHERE place = ?1 AND fence = ?2")?
            .execute([place, held.number(), until])?
    } else {
        tx.sql(
            "UPDATE formsvc_inbox_claims SET until_ms = ?4
             WHERE scope = ?1 AND key = ?2 AND fence = ?3",
        )?
        .execute(params![held.scope(), held.key().as_bytes(), held.number(), until])?
    };
    Ok(changed > 0)
}

/// Gives a claim up. What is queued is due then, and has a new fencing number, so that the old one is worth
/// nothing.
pub(super) fn release(tx: &Tx<'_>, held: &ClaimToken, due: i64) -> Result<bool> {
    release_as(tx, held, due, 0)
}

/// Gives back what was claimed for somebody who had gone, and so was no attempt.
pub(super) fn give_back(tx: &Tx<'_>, held: &ClaimToken, now: i64) -> Result<bool> {
    release_as(tx, held, now, 1)
}

fn release_as(tx: &Tx<'_>, held: &ClaimToken, due: i64, taken_back: i64) -> Result<bool> {
    let Some(place) = held.place() else { return remove_claim(tx, held) };
    let still = "SELECT 1 FROM formsvc_inbox_queue WHERE place = ?1 AND fence = ?2";
    if !tx.sql(still)?.exists([place, held.number()])? {
        return Ok(false);
    }
    let fence = tx.next_fence()?;
    tx.take_fence();
    tx.sql(
        "UPDATE formsvc_inbox_queue SET due_ms = ?2, fence = ?3, attempts = max(attempts - ?4, 0)
         WHERE place = ?1",
    )?
    .execute([place, due, fence, taken_back])?;
    Ok(true)
}

fn remove_claim(tx: &Tx<'_>, held: &ClaimToken) -> Result<bool> {
    let removed = tx
        .sql("DELETE FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2 AND fence = ?3")?
        .execute(params![held.scope(), held.key().as_bytes(), held.number()])?;
    Ok(removed > 0)
}

pub(super) fn complete(tx: &Tx<'_>, held: &ClaimToken, until: i64) -> Result<bool> {
    let was_held = match held.place() {
        None => remove_claim(tx, held)?,
        Some(place) => {
            tx.sql("DELETE FROM formsvc_inbox_queue WHERE place = ?1 AND fence = ?2")?
                .execute([place, held.number()])?
                > 0
        }
    };
    if was_held {
        set_mark(tx, held, until)?;
        return Ok(true);
    }
    // Completed before, and asked again.
    tx.sql(
        "SELECT 1 FROM formsvc_inbox_marks
         WHERE scope = ?1 AND key = ?2 AND fence = ?3 AND until_ms < ?4",
    )?
    .exists(params![held.scope(), held.key().as_bytes(), held.number(), NEVER])
}

fn set_mark(tx: &Tx<'_>, held: &ClaimToken, until: i64) -> Result<()> {
    tx.sql(
        "INSERT INTO formsvc_inbox_marks VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET fence = excluded.fence, until_ms = excluded.until_ms",
    )?
    .execute(params![held.scope(), held.key().as_bytes(), held.number(), until])
    .map(drop)
}

/// Marks a key unless it is marked.
pub(super) fn mark(
    tx: &Tx<'_>,
    scope: &Scope,
    key: &str,
    now: i64,
    until: i64,
) -> Result<Recorded> {
    let changed = tx.sql(
        "INSERT INTO formsvc_inbox_marks AS was VALUES (?1, ?2, 0, ?3)
         ON CONFLICT DO UPDATE SET fence = 0, until_ms = excluded.until_ms WHERE was.until_ms <= ?4",
    )?
    .execute(params![scope.name(), key.as_bytes(), until, now])?;
    Ok(if changed > 0 { Recorded::New } else { Recorded::Duplicate })
}

/// Keeps a delivery; `None` while somebody has a claim on its key.
pub(super) fn accept(
    tx: &Tx<'_>,
    scope: &Scope,
    key: &str,
    payload: &[u8],
    now: i64,
) -> Result<Option<Recorded>> {
    let claimed = claimed_until(tx, scope, key)?;
    if claimed.is_some_and(|until| until > now) {
        let marked = is_marked(tx, scope, key, now)?;
        return Ok(marked.then_some(Recorded::Duplicate));
    }
    let recorded = mark(tx, scope, key, now, NEVER)?;
    if recorded == Recorded::New {
        if claimed.is_some() {
            // Its lease has ended, and it is taken over.
            tx.sql("DELETE FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2")?
                .execute(params![scope.name(), key.as_bytes()])?;
        }
        tx.sql(
            "INSERT INTO formsvc_inbox_queue (scope, key, fence, attempts, due_ms, payload)
             VALUES (?1, ?2, 0, 0, ?3, ?4)",
        )?
        .execute(params![scope.name(), key.as_bytes(), now, payload])?;
    }
    Ok(Some(recorded))
}

pub(super) fn next(tx: &Tx<'_>, scope: &Scope, now: i64, lease: i64) -> Result<Option<Pending>> {
    let found = tx
        .sql(
            "SELECT place FROM formsvc_inbox_queue WHERE scope = ?1 AND due_ms <= ?2
         ORDER BY due_ms, place LIMIT 1",
        )?
        .query_row(params![scope.name(), now], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(place) = found else { return Ok(None) };
    let fence = tx.next_fence()?;
    tx.take_fence();
    tx.sql(
        "UPDATE formsvc_inbox_queue SET fence = ?2, due_ms = ?3, attempts = attempts + 1
         WHERE place = ?1 RETURNING key, attempts, payload",
    )?
    .query_row([place, fence, now.saturating_add(lease)], |row| {
        let key = String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned();
        let token = ClaimToken::queued(scope.clone(), &key, fence, place);
        Ok(Some(Pending::new(token, row.get(2)?, row.get(1)?)))
    })
}

/// Forgets marks whose time has come, at most so many.
pub(super) fn prune_marks(tx: &Tx<'_>, now: i64, at_most: usize) -> Result<usize> {
    let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
    tx.sql(
        "DELETE FROM formsvc_inbox_marks WHERE (scope, key) IN (
             SELECT scope, key FROM formsvc_inbox_marks WHERE until_ms <= ?1
             ORDER BY until_ms LIMIT ?2)",
    )?
    .execute([now, at_most])
}

/// Forgets claims that nobody came back for. There are few claims: those under way, and what crashes left.
pub(super) fn prune_claims(tx: &Tx<'_>, now: i64) -> Result<usize> {
    tx.sql("DELETE FROM formsvc_inbox_claims WHERE until_ms <= ?1")?
        .execute([now.saturating_sub(CLAIM_KEPT)])
}
