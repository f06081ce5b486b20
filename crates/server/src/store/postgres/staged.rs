//! Forms under import.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use formsvc_protocol::{Form, FormId, FormInstant};
use tokio_postgres::error::SqlState;

use super::fault::code_of;
use super::forms::{form, has_public_id};
use super::pages::SEQ_BITS;
use super::rows::{Params, column, execute, instant, instant_opt, query, query_opt, text_id};
use crate::store::rules::{no_form, removed_public_id, wanted_public_id};
use crate::store::{StagedSubmission, StoreError, item};

/// An import that has made no progress for so long was given up.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(3_600);
/// Submissions removed in one transaction, so that other writers get their turn.
const REMOVED_AT_ONCE: i64 = 5_000;

/// The end of a form under import.
struct End {
    form_no: i64,
    seq: i64,
    last: Option<FormInstant>,
    now: FormInstant,
    /// It is being removed.
    goes: bool,
}

async fn end(
    db: &impl GenericClient,
    id: &FormId,
    now: Option<i64>,
) -> Result<Option<End>, StoreError> {
    let sql = "SELECT form_no, last_seq, last_instant_us, now_us($2), public_id = $3 FROM forms
        WHERE id = $1 AND NOT ready FOR UPDATE";
    let params: Params<'_> = &[&id.as_str(), &now, &removed_public_id(id)];
    let Some(row) = query_opt(db, sql, params).await? else { return Ok(None) };
    Ok(Some(End {
        form_no: column(&row, 0)?,
        seq: column(&row, 1)?,
        last: instant_opt(&row, 2)?,
        now: instant(&row, 3)?,
        goes: column(&row, 4)?,
    }))
}

pub(super) async fn append(
    db: &impl GenericClient,
    id: &FormId,
    submissions: &[StagedSubmission],
    now: Option<i64>,
) -> Result<(), StoreError> {
    let end = end(db, id, now).await?.filter(|end| !end.goes);
    let mut end = end.ok_or_else(|| no_form(id))?;
    let (mut keys, mut instants, mut ids, mut items) = (vec![], vec![], vec![], vec![]);
    for submission in submissions {
        let at = match (submission.at, end.last) {
            (None, last) => FormInstant::next(end.now, last),
            (Some(at), Some(last)) if at <= last => {
                return Err(StoreError::Invalid {
                    what: "instant",
                    value: at.to_cursor().as_str().into(),
                    rule: "is not later than the submission before it",
                });
            }
            (Some(at), _) => at,
        };
        item::check_size(&submission.answers)?;
        (end.seq, end.last) = (end.seq + 1, Some(at));
        keys.push(end.form_no << SEQ_BITS | end.seq);
        instants.push(at.micros());
        ids.push(submission.id.as_str());
        items.push(item::compose(&submission.id, &submission.answers, at));
    }
    let sql = "INSERT INTO submissions (key, form_no, instant_us, id, item)
        SELECT n.key, $5, n.at_us, n.id, n.item
        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) AS n (key, at_us, id, item)
        ON CONFLICT (id) DO NOTHING RETURNING id";
    let params: Params<'_> = &[&keys, &instants, &ids, &items, &end.form_no];
    let added = query(db, sql, params).await?;
    if added.len() < ids.len() {
        let added: Result<Vec<&str>, _> = added.iter().map(|row| column(row, 0)).collect();
        let added = added?;
        // Of two with one id the first was added.
        let mut left = added.iter();
        let twice =
            ids.iter().find(|id| left.as_slice().first() != Some(id) || left.next().is_none());
        let value = twice.map_or_else(String::new, |id| (*id).to_owned());
        return Err(StoreError::Exists { what: "submission id", value });
    }
    let sql = "UPDATE forms SET last_seq = $2, last_instant_us = $3, updated_us = $4
        WHERE form_no = $1";
    let last = end.last.map(FormInstant::micros);
    execute(db, sql, &[&end.form_no, &end.seq, &last, &end.now.micros()]).await?;
    Ok(())
}

/// Lets everyone see a form, from now on, if nobody else has its public id by now.
pub(super) async fn publish(
    db: &impl GenericClient,
    id: &FormId,
    now: Option<i64>,
) -> Result<Form, StoreError> {
    let sql = "SELECT public_id FROM forms WHERE id = $1 AND NOT ready FOR UPDATE";
    let kept = query_opt(db, sql, &[&id.as_str()]).await?.ok_or_else(|| no_form(id))?;
    let public_id = wanted_public_id(column(&kept, 0)?).ok_or_else(|| no_form(id))?;
    let taken = || StoreError::Exists { what: "public id", value: public_id.into() };
    if has_public_id(db, public_id).await? {
        return Err(taken());
    }
    let sql = "UPDATE forms SET ready = true, public_id = $3, created_us = n.us, updated_us = n.us
        FROM (SELECT now_us($2) AS us) n WHERE id = $1";
    match execute(db, sql, &[&id.as_str(), &now, &public_id]).await {
        Ok(_) => form(db, id).await,
        // Somebody took it since.
        Err(error) if code_of(&error) == Some(&SqlState::UNIQUE_VIOLATION) => Err(taken()),
        Err(error) => Err(error),
    }
}

/// Removes some of what was staged; `true` when nothing is left.
pub(super) async fn remove_some(db: &impl GenericClient, id: &FormId) -> Result<bool, StoreError> {
    let Some(End { form_no, .. }) = end(db, id, None).await? else { return Ok(true) };
    let sql = "UPDATE forms SET public_id = $2 WHERE form_no = $1";
    execute(db, sql, &[&form_no, &removed_public_id(id)]).await?;
    let sql = "DELETE FROM submissions WHERE key IN
        (SELECT key FROM submissions WHERE form_no = $1 LIMIT $2)";
    let removed = execute(db, sql, &[&form_no, &REMOVED_AT_ONCE]).await?;
    let all = removed < REMOVED_AT_ONCE.unsigned_abs();
    if all {
        execute(db, "DELETE FROM forms WHERE form_no = $1", &[&form_no]).await?;
    }
    Ok(all)
}

/// Staged forms that were given up, or are being removed.
pub(super) async fn given_up(
    db: &impl GenericClient,
    now: Option<i64>,
) -> Result<Vec<FormId>, StoreError> {
    let patience = i64::try_from(GIVEN_UP_AFTER.as_micros()).expect("an hour fits");
    let sql = "SELECT id FROM forms WHERE NOT ready
        AND (updated_us < now_us($1) - $2 OR public_id = ' ' || id)";
    query(db, sql, &[&now, &patience])
        .await?
        .iter()
        .map(|row| text_id(row, 0, FormId::new))
        .collect()
}
