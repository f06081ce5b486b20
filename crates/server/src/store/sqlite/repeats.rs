//! Idempotency keys: telling a repeated submission from a new one.

use formsvc_protocol::FormInstant;
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::{instant, stored_id};
use crate::store::rules::REMEMBERED;
use crate::store::{Accepted, Idempotency, StoreError};

/// Keys forgotten in one transaction.
const FORGOTTEN_AT_ONCE: i64 = 500;

/// What was answered to the first submission with a key, if there was one in the last day.
pub(super) fn find(
    db: &Connection,
    form_no: i64,
    idempotency: &Idempotency,
    now: FormInstant,
) -> Result<Option<Accepted>, StoreError> {
    let found = db
        .prepare_cached(
            "SELECT i.no, i.fingerprint, i.created_us, s.id, s.instant_us FROM idempotency i
             LEFT JOIN submissions s ON s.key = i.submission WHERE i.form_no = ?1 AND i.key = ?2",
        )?
        .query_row(params![form_no, idempotency.key], |row| {
            let at = row.get::<_, Option<i64>>(4)?.map(instant);
            let accepted = |instant| {
                Ok::<_, rusqlite::Error>(Accepted {
                    id: stored_id(row, 3)?,
                    instant,
                    repeated: true,
                })
            };
            let accepted = at.map(accepted).transpose()?;
            let (no, fingerprint): (i64, [u8; 32]) = (row.get(0)?, row.get(1)?);
            Ok((no, fingerprint, instant(row.get(2)?), accepted))
        })
        .optional()?;
    let Some((no, fingerprint, created, accepted)) = found else { return Ok(None) };
    // What was removed since is forgotten with its key.
    let Some(accepted) = accepted.filter(|_| now.since(created) <= REMEMBERED) else {
        db.prepare_cached("DELETE FROM idempotency WHERE no = ?1")?.execute([no])?;
        return Ok(None);
    };
    if fingerprint == idempotency.fingerprint {
        Ok(Some(accepted))
    } else {
        Err(StoreError::KeyReused)
    }
}

/// Remembers the key of a submission.
pub(super) fn keep(
    db: &Connection,
    form_no: i64,
    idempotency: &Idempotency,
    submission: i64,
    now: FormInstant,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO idempotency (form_no, key, fingerprint, submission, created_us)
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        form_no,
        idempotency.key,
        idempotency.fingerprint,
        submission,
        now.micros()
    ])?;
    Ok(())
}

/// Forgets some old keys; `true` when there may be more.
pub(super) fn forget_some(db: &Connection, now: FormInstant) -> Result<bool, StoreError> {
    let oldest_kept = now.micros() - i64::try_from(REMEMBERED.as_micros()).unwrap_or(i64::MAX);
    let newest_true = now.plus(REMEMBERED).micros();
    // The table is in the order of time, so that the old ones are in front. One from the future was
    // made by a clock that was ahead, and would keep those behind it for as long.
    let forgotten = db
        .prepare_cached(
            "DELETE FROM idempotency WHERE no IN (SELECT no FROM idempotency ORDER BY no LIMIT ?2)
                AND (created_us < ?1 OR created_us > ?3)",
        )?
        .execute([oldest_kept, FORGOTTEN_AT_ONCE, newest_true])?;
    Ok(i64::try_from(forgotten).unwrap_or(i64::MAX) >= FORGOTTEN_AT_ONCE)
}
