//! What is done to the tables, each within a transaction of the caller's. Times are milliseconds.

use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use crate::inbox::{Pending, Recorded, Scope};

type Result<T> = rusqlite::Result<T>;

/// The end of a mark that is queued.
const NEVER: i64 = i64::MAX;
/// How long a claim is kept whose lease has ended: its handler may still complete it.
const CLAIM_KEPT: i64 = 24 * 3_600 * 1_000;

/// What is claimed, by whom.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) scope: Scope,
    pub(super) key: Box<str>,
    pub(super) fence: i64,
    pub(super) place: Option<i64>,
}

pub(super) enum Claimed {
    Acquired { fence: i64 },
    Duplicate,
    InFlight { until: i64 },
}

/// A statement that was prepared once.
fn sql<'a>(db: &'a Connection, text: &str) -> Result<CachedStatement<'a>> {
    db.prepare_cached(text)
}

fn is_marked(db: &Connection, scope: &Scope, key: &str, now: i64) -> Result<bool> {
    sql(db, "SELECT 1 FROM formsvc_inbox_marks WHERE scope = ?1 AND key = ?2 AND until_ms > ?3")?
        .exists(params![scope.name(), key.as_bytes(), now])
}

/// The end of the lease of a claim that holds.
fn claimed_until(db: &Connection, scope: &Scope, key: &str, now: i64) -> Result<Option<i64>> {
    sql(
        db,
        "SELECT until_ms FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2 AND until_ms > ?3",
    )?
    .query_row(params![scope.name(), key.as_bytes(), now], |row| row.get(0))
    .optional()
}

fn next_fence(db: &Connection) -> Result<i64> {
    sql(db, "UPDATE formsvc_inbox SET fence = fence + 1 RETURNING fence")?
        .query_row([], |row| row.get(0))
}

pub(super) fn claim(
    db: &Connection,
    scope: &Scope,
    key: &str,
    now: i64,
    lease: i64,
) -> Result<Claimed> {
    if is_marked(db, scope, key, now)? {
        return Ok(Claimed::Duplicate);
    }
    if let Some(until) = claimed_until(db, scope, key, now)? {
        return Ok(Claimed::InFlight { until });
    }
    let fence = next_fence(db)?;
    sql(
        db,
        "INSERT INTO formsvc_inbox_claims VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET fence = excluded.fence, until_ms = excluded.until_ms",
    )?
    .execute(params![scope.name(), key.as_bytes(), fence, now.saturating_add(lease)])?;
    Ok(Claimed::Acquired { fence })
}

/// `false` when the claim is lost, here and below.
pub(super) fn extend(db: &Connection, held: &Held, until: i64) -> Result<bool> {
    let changed = if let Some(place) = held.place {
        sql(db, "UPDATE formsvc_inbox_queue SET due_ms = ?3 WHERE place = ?1 AND fence = ?2")?
            .execute([place, held.fence, until])?
    } else {
        sql(
            db,
            "UPDATE formsvc_inbox_claims SET until_ms = ?4
             WHERE scope = ?1 AND key = ?2 AND fence = ?3",
        )?
        .execute(params![held.scope.name(), held.key.as_bytes(), held.fence, until])?
    };
    Ok(changed > 0)
}

/// Gives a claim up. What is queued is due then, and has a new fencing number, so that the old one is worth
/// nothing.
pub(super) fn release(db: &Connection, held: &Held, due: i64) -> Result<bool> {
    release_as(db, held, due, 0)
}

/// Gives back what was claimed for somebody who had gone, and so was no attempt.
pub(super) fn give_back(db: &Connection, held: &Held, now: i64) -> Result<bool> {
    release_as(db, held, now, 1)
}

fn release_as(db: &Connection, held: &Held, due: i64, taken_back: i64) -> Result<bool> {
    let Some(place) = held.place else { return remove_claim(db, held) };
    let still = "SELECT 1 FROM formsvc_inbox_queue WHERE place = ?1 AND fence = ?2";
    if !sql(db, still)?.exists([place, held.fence])? {
        return Ok(false);
    }
    let fence = next_fence(db)?;
    sql(
        db,
        "UPDATE formsvc_inbox_queue SET due_ms = ?2, fence = ?3, attempts = max(attempts - ?4, 0)
         WHERE place = ?1",
    )?
    .execute([place, due, fence, taken_back])?;
    Ok(true)
}

fn remove_claim(db: &Connection, held: &Held) -> Result<bool> {
    let removed =
        sql(db, "DELETE FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2 AND fence = ?3")?
            .execute(params![held.scope.name(), held.key.as_bytes(), held.fence])?;
    Ok(removed > 0)
}

pub(super) fn complete(db: &Connection, held: &Held, until: i64) -> Result<bool> {
    let was_held = match held.place {
        None => remove_claim(db, held)?,
        Some(place) => {
            sql(db, "DELETE FROM formsvc_inbox_queue WHERE place = ?1 AND fence = ?2")?
                .execute([place, held.fence])?
                > 0
        }
    };
    if was_held {
        set_mark(db, &held.scope, &held.key, held.fence, until)?;
        return Ok(true);
    }
    // Completed before, and asked again.
    sql(
        db,
        "SELECT 1 FROM formsvc_inbox_marks
         WHERE scope = ?1 AND key = ?2 AND fence = ?3 AND until_ms < ?4",
    )?
    .exists(params![held.scope.name(), held.key.as_bytes(), held.fence, NEVER])
}

fn set_mark(db: &Connection, scope: &Scope, key: &str, fence: i64, until: i64) -> Result<()> {
    sql(
        db,
        "INSERT INTO formsvc_inbox_marks VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT DO UPDATE SET fence = excluded.fence, until_ms = excluded.until_ms",
    )?
    .execute(params![scope.name(), key.as_bytes(), fence, until])
    .map(drop)
}

/// Marks a key unless it is marked.
pub(super) fn mark(
    db: &Connection,
    scope: &Scope,
    key: &str,
    now: i64,
    until: i64,
) -> Result<Recorded> {
    let changed = sql(
        db,
        "INSERT INTO formsvc_inbox_marks AS was VALUES (?1, ?2, 0, ?3)
         ON CONFLICT DO UPDATE SET fence = 0, until_ms = excluded.until_ms WHERE was.until_ms <= ?4",
    )?
    .execute(params![scope.name(), key.as_bytes(), until, now])?;
    Ok(if changed > 0 { Recorded::New } else { Recorded::Duplicate })
}

/// Keeps a delivery; `None` while somebody has a claim on its key.
pub(super) fn accept(
    db: &Connection,
    scope: &Scope,
    key: &str,
    payload: &[u8],
    now: i64,
) -> Result<Option<Recorded>> {
    if claimed_until(db, scope, key, now)?.is_some() {
        let marked = is_marked(db, scope, key, now)?;
        return Ok(marked.then_some(Recorded::Duplicate));
    }
    let recorded = mark(db, scope, key, now, NEVER)?;
    if recorded == Recorded::New {
        // A claim whose lease has ended is taken over.
        sql(db, "DELETE FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2")?
            .execute(params![scope.name(), key.as_bytes()])?;
        sql(
            db,
            "INSERT INTO formsvc_inbox_queue (scope, key, fence, attempts, due_ms, payload)
             VALUES (?1, ?2, 0, 0, ?3, ?4)",
        )?
        .execute(params![scope.name(), key.as_bytes(), now, payload])?;
    }
    Ok(Some(recorded))
}

pub(super) fn next(
    db: &Connection,
    scope: &Scope,
    now: i64,
    lease: i64,
) -> Result<Option<Pending>> {
    let found = sql(
        db,
        "SELECT place FROM formsvc_inbox_queue WHERE scope = ?1 AND due_ms <= ?2
         ORDER BY due_ms, place LIMIT 1",
    )?
    .query_row(params![scope.name(), now], |row| row.get::<_, i64>(0))
    .optional()?;
    let Some(place) = found else { return Ok(None) };
    let fence = next_fence(db)?;
    sql(
        db,
        "UPDATE formsvc_inbox_queue SET fence = ?2, due_ms = ?3, attempts = attempts + 1
         WHERE place = ?1 RETURNING key, attempts, payload",
    )?
    .query_row([place, fence, now.saturating_add(lease)], |row| {
        let key = String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned();
        let token = crate::inbox::ClaimToken::queued(scope.clone(), &key, fence, place);
        Ok(Some(Pending::new(token, row.get(2)?, row.get(1)?)))
    })
}

/// Forgets marks whose time has come, at most so many.
pub(super) fn prune_marks(db: &Connection, now: i64, at_most: usize) -> Result<usize> {
    let at_most = i64::try_from(at_most).unwrap_or(i64::MAX);
    sql(
        db,
        "DELETE FROM formsvc_inbox_marks WHERE (scope, key) IN (
             SELECT scope, key FROM formsvc_inbox_marks WHERE until_ms <= ?1
             ORDER BY until_ms LIMIT ?2)",
    )?
    .execute([now, at_most])
}

/// Forgets claims that nobody came back for. There are few claims: those under way, and what crashes left.
pub(super) fn prune_claims(db: &Connection, now: i64) -> Result<usize> {
    sql(db, "DELETE FROM formsvc_inbox_claims WHERE until_ms <= ?1")?
        .execute([now.saturating_sub(CLAIM_KEPT)])
}
