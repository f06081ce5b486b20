//! Operations on the tables, each inside a transaction of the caller. Times are milliseconds.

use rusqlite::{Connection, OptionalExtension, Result, params};

use crate::inbox::claim::KeyState;
use crate::inbox::limits::EXPIRED_CLAIM_KEPT;
use crate::inbox::scope::Scope;
use crate::inbox::{Claim, ClaimToken, DedupeResult, QueuedDelivery};

/// Expiry of the mark of a queued delivery.
const NEVER: i64 = i64::MAX;

/// Marks the key 2 of the scope 1 until 3 at the time 4, unless it is marked. Uses the table of marks only.
pub(super) const MARK: &str = "INSERT INTO formsvc_inbox_marks AS mark VALUES (?1, ?2, 0, ?3)
ON CONFLICT DO UPDATE SET fence = 0, until_ms = excluded.until_ms WHERE mark.until_ms <= ?4";

/// Returns the next fencing token.
fn next_fence(tx: &Connection) -> Result<i64> {
    tx.prepare_cached("UPDATE formsvc_inbox SET fence = fence + 1 RETURNING fence")?
        .query_row([], |row| row.get(0))
}

/// The mark or claim that prevents a new claim of a key.
fn blocking_claim(tx: &Connection, scope: &Scope, key: &str, now: i64) -> Result<Option<Claim>> {
    let blocking = |sql, state: KeyState| {
        let until = tx
            .prepare_cached(sql)?
            .query_row(params![scope.name(), key.as_bytes()], |row| row.get::<_, i64>(0))
            .optional()?;
        Ok(until.and_then(|until| state.blocks_claim(until.saturating_sub(now))))
    };
    let mark = blocking(
        "SELECT until_ms FROM formsvc_inbox_marks WHERE scope = ?1 AND key = ?2",
        KeyState::Handled,
    )?;
    if mark.is_some() {
        return Ok(mark);
    }
    blocking(
        "SELECT until_ms FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2",
        KeyState::Claimed,
    )
}

pub(super) fn claim(
    tx: &Connection,
    scope: &Scope,
    key: &str,
    now: i64,
    lease: i64,
) -> Result<Claim> {
    if let Some(claim) = blocking_claim(tx, scope, key, now)? {
        return Ok(claim);
    }
    let fence = next_fence(tx)?;
    tx.prepare_cached("INSERT OR REPLACE INTO formsvc_inbox_claims VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![scope.name(), key.as_bytes(), fence, now.saturating_add(lease)])?;
    Ok(Claim::Acquired(ClaimToken::issue(scope, key, fence)))
}

/// Returns false if the claim is lost, like the functions below.
pub(super) fn extend(tx: &Connection, token: &ClaimToken, until: i64) -> Result<bool> {
    let changed = if let Some(row) = token.queue_row() {
        tx.prepare_cached(
            "UPDATE formsvc_inbox_queue SET due_ms = ?3 WHERE place = ?1 AND fence = ?2",
        )?
        .execute([row, token.fence_number(), until])?
    } else {
        tx.prepare_cached(
            "UPDATE formsvc_inbox_claims SET until_ms = ?4
             WHERE scope = ?1 AND key = ?2 AND fence = ?3",
        )?
        .execute(params![
            token.scope(),
            token.key().as_bytes(),
            token.fence_number(),
            until
        ])?
    };
    Ok(changed > 0)
}

/// Releases a claim. A queued delivery is due at `due`, with a new fencing token.
pub(super) fn release(tx: &Connection, token: &ClaimToken, due: i64) -> Result<bool> {
    let Some(row) = token.queue_row() else { return delete_claim(tx, token) };
    let changed = tx
        .prepare_cached(
            "UPDATE formsvc_inbox_queue SET due_ms = ?3, fence = ?4 WHERE place = ?1 AND fence = ?2",
        )?
        .execute([row, token.fence_number(), due, next_fence(tx)?])?;
    Ok(changed > 0)
}

fn delete_claim(tx: &Connection, token: &ClaimToken) -> Result<bool> {
    let deleted = tx
        .prepare_cached(
            "DELETE FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2 AND fence = ?3",
        )?
        .execute(params![token.scope(), token.key().as_bytes(), token.fence_number()])?;
    Ok(deleted > 0)
}

/// Marks the key of a claim as handled.
pub(super) fn complete(tx: &Connection, token: &ClaimToken, until: i64) -> Result<bool> {
    let is_held = match token.queue_row() {
        None => delete_claim(tx, token)?,
        Some(row) => {
            tx.prepare_cached("DELETE FROM formsvc_inbox_queue WHERE place = ?1 AND fence = ?2")?
                .execute([row, token.fence_number()])?
                > 0
        }
    };
    let key = params![token.scope(), token.key().as_bytes(), token.fence_number(), until];
    if is_held {
        tx.prepare_cached("INSERT OR REPLACE INTO formsvc_inbox_marks VALUES (?1, ?2, ?3, ?4)")?
            .execute(key)?;
        return Ok(true);
    }
    // A repeated call: the mark has the fencing token of this claim.
    tx.prepare_cached(
        "SELECT 1 FROM formsvc_inbox_marks
         WHERE scope = ?1 AND key = ?2 AND fence = ?3 AND until_ms <= ?4",
    )?
    .exists(key)
}

/// Marks a key as handled, unless it is marked.
pub(super) fn mark(
    tx: &Connection,
    scope: &Scope,
    key: &str,
    now: i64,
    until: i64,
) -> Result<DedupeResult> {
    let changed =
        tx.prepare_cached(MARK)?.execute(params![scope.name(), key.as_bytes(), until, now])?;
    Ok(if changed > 0 { DedupeResult::New } else { DedupeResult::Duplicate })
}

/// Queues a delivery; `None` if another caller has a claim on its key.
pub(super) fn accept(
    tx: &Connection,
    scope: &Scope,
    key: &str,
    payload: &[u8],
    now: i64,
) -> Result<Option<DedupeResult>> {
    match blocking_claim(tx, scope, key, now)? {
        None => {}
        Some(Claim::Duplicate) => return Ok(Some(DedupeResult::Duplicate)),
        Some(_) => return Ok(None),
    }
    // Takes over an expired claim.
    tx.prepare_cached("DELETE FROM formsvc_inbox_claims WHERE scope = ?1 AND key = ?2")?
        .execute(params![scope.name(), key.as_bytes()])?;
    let result = mark(tx, scope, key, now, NEVER)?;
    tx.prepare_cached(
        "INSERT INTO formsvc_inbox_queue (scope, key, fence, attempts, due_ms, payload)
         VALUES (?1, ?2, 0, 0, ?3, ?4)",
    )?
    .execute(params![scope.name(), key.as_bytes(), now, payload])?;
    Ok(Some(result))
}

/// Claims the oldest due delivery of the queue.
pub(super) fn next(
    tx: &Connection,
    scope: &Scope,
    now: i64,
    lease: i64,
) -> Result<Option<QueuedDelivery>> {
    let row = tx
        .prepare_cached(
            "SELECT place FROM formsvc_inbox_queue WHERE scope = ?1 AND due_ms <= ?2
             ORDER BY due_ms, place LIMIT 1",
        )?
        .query_row(params![scope.name(), now], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(queue_row) = row else { return Ok(None) };
    let fence = next_fence(tx)?;
    tx.prepare_cached(
        "UPDATE formsvc_inbox_queue SET fence = ?2, due_ms = ?3, attempts = attempts + 1
         WHERE place = ?1 RETURNING key, payload, attempts",
    )?
    .query_row([queue_row, fence, now.saturating_add(lease)], |row| {
        let key = String::from_utf8_lossy(row.get_ref(0)?.as_blob()?).into_owned();
        let token = ClaimToken::issue(scope, &key, fence).with_queue_row(queue_row);
        Ok(Some(QueuedDelivery::new(token, row.get::<_, Vec<u8>>(1)?, row.get(2)?)))
    })
}

/// Deletes expired marks, and returns how many it deleted.
pub(super) fn prune_marks(tx: &Connection, now: i64, at_most: usize) -> Result<usize> {
    tx.prepare_cached(
        "DELETE FROM formsvc_inbox_marks WHERE (scope, key) IN (
             SELECT scope, key FROM formsvc_inbox_marks WHERE until_ms <= ?1
             ORDER BY until_ms LIMIT ?2)",
    )?
    .execute(params![now, i64::try_from(at_most).unwrap_or(i64::MAX)])
}

/// Deletes claims of processes that died. The table is small, so it needs no index for this.
pub(super) fn prune_claims(tx: &Connection, now: i64) -> Result<usize> {
    tx.prepare_cached("DELETE FROM formsvc_inbox_claims WHERE until_ms <= ?1")?
        .execute([now.saturating_sub(EXPIRED_CLAIM_KEPT)])
}
