//! Forms under import.

use std::time::Duration;

use formsvc_protocol::{Form, FormId, FormInstant};
use rusqlite::{Connection, OptionalExtension, params};

use super::accept::{Insert, Tail};
use super::columns::instant;
use super::forms::form;
use crate::store::rules::{no_form, removed_public_id, wanted_public_id};
use crate::store::{StagedSubmission, StoreError};

/// An import that has made no progress for so long was given up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(3_600);
/// Submissions removed in one transaction, so that other writers get their turn.
const REMOVED_AT_ONCE: u16 = 5_000;

pub(super) fn append(
    db: &Connection,
    id: &FormId,
    submissions: &[StagedSubmission],
    now: FormInstant,
) -> Result<(), StoreError> {
    let (mut tail, mut insert) = (tail(db, id, Going::On)?, Insert::new(db)?);
    for submission in submissions {
        let at = match (submission.at, tail.instant) {
            (None, last) => FormInstant::next(now, last),
            (Some(at), Some(last)) if at <= last => {
                return Err(StoreError::Invalid {
                    what: "instant",
                    value: at.to_cursor().as_str().into(),
                    rule: "is not later than the submission before it",
                });
            }
            (Some(at), _) => at,
        };
        tail.append(&mut insert, &submission.id, &submission.answers, at)?;
    }
    tail.save(db)?;
    db.prepare_cached("UPDATE forms SET updated_us = ?2 WHERE form_no = ?1")?
        .execute(params![tail.form_no, now.micros()])?;
    Ok(())
}

/// What becomes of a form under import.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Going {
    On,
    Away,
}

/// The end of a form under import; one that is being removed goes on no more.
fn tail(db: &Connection, id: &FormId, going: Going) -> Result<Tail, StoreError> {
    db.prepare_cached(
        "SELECT form_no, last_seq, last_instant_us FROM forms
         WHERE id = ?1 AND NOT ready AND (?2 OR public_id <> ?3)",
    )?
    .query_row(params![id.as_str(), going == Going::Away, removed_public_id(id)], |row| {
        let last: Option<i64> = row.get(2)?;
        Ok(Tail { form_no: row.get(0)?, seq: row.get(1)?, instant: last.map(instant) })
    })
    .optional()?
    .ok_or_else(|| no_form(id))
}

/// Lets everyone see a form, from now on, if nobody else has its public id by now.
pub(super) fn publish(db: &Connection, id: &FormId, now: FormInstant) -> Result<Form, StoreError> {
    let kept = db
        .prepare_cached("SELECT public_id FROM forms WHERE id = ?1 AND NOT ready")?
        .query_row([id.as_str()], |row| row.get::<_, String>(0))
        .optional()?
        .ok_or_else(|| no_form(id))?;
    let public_id = wanted_public_id(&kept).ok_or_else(|| no_form(id))?;
    if db.prepare_cached("SELECT 1 FROM forms WHERE public_id = ?1")?.exists([public_id])? {
        return Err(StoreError::Exists { what: "public id", value: public_id.into() });
    }
    db.prepare_cached(
        "UPDATE forms SET ready = 1, public_id = ?3, created_us = ?2, updated_us = ?2 WHERE id = ?1",
    )?
    .execute(params![id.as_str(), now.micros(), public_id])?;
    form(db, id)
}

/// Removes some of what was staged; `true` when nothing is left.
pub(super) fn remove_some(db: &Connection, id: &FormId) -> Result<bool, StoreError> {
    let Tail { form_no, .. } = match tail(db, id, Going::Away) {
        Ok(tail) => tail,
        Err(StoreError::NotFound { .. }) => return Ok(true),
        Err(error) => return Err(error),
    };
    db.prepare_cached("UPDATE forms SET public_id = ?2 WHERE form_no = ?1")?
        .execute(params![form_no, removed_public_id(id)])?;
    let removed = db
        .prepare_cached(
            "DELETE FROM submissions WHERE key IN
             (SELECT key FROM submissions WHERE form_no = ?1 LIMIT ?2)",
        )?
        .execute(params![form_no, REMOVED_AT_ONCE])?;
    let all = removed < usize::from(REMOVED_AT_ONCE);
    if all {
        db.prepare_cached("DELETE FROM forms WHERE form_no = ?1")?.execute([form_no])?;
    }
    Ok(all)
}

/// Staged forms that were given up, or are being removed.
pub(super) fn given_up(db: &Connection, now: FormInstant) -> Result<Vec<FormId>, StoreError> {
    let patience = i64::try_from(GIVEN_UP_AFTER.as_micros()).expect("an hour fits");
    let mut statement = db.prepare_cached(
        "SELECT id FROM forms WHERE NOT ready AND (updated_us < ?1 OR public_id = ' ' || id)",
    )?;
    let rows = statement
        .query_map([now.micros() - patience], |row| super::columns::text_id(row, 0, FormId::new))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
