//! What machines sent to forms, kept apart.

use formsvc_protocol::{Answers, FormInstant, SubmissionId};
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::{instant, text_id};
use super::forms::form_no;
use crate::store::{NewSpam, SPAM_BYTES_MAX, SPAM_MAX, SpamRecord, SpamRequest, StoreError, item};

pub(super) fn keep(db: &Connection, new: &NewSpam, now: FormInstant) -> Result<(), StoreError> {
    item::check_size(&new.answers)?;
    let form_no = form_no(db, &new.form)?;
    let data = new.answers.as_json();
    let start: Option<i64> = db
        .prepare_cached(
            "SELECT start + octet_length(data) FROM spam WHERE form_no = ?1
             ORDER BY start DESC LIMIT 1",
        )?
        .query_row([form_no], |row| row.get(0))
        .optional()?;
    let start = start.unwrap_or(0);
    db.prepare_cached(
        "INSERT INTO spam (form_no, start, id, data, received_us) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![form_no, start, new.id.as_str(), data, now.micros()])?;
    let end = start.saturating_add(whole(data.len()));
    // The oldest go first. Each is longer than nothing, so that no two begin at one place.
    db.prepare_cached("DELETE FROM spam WHERE form_no = ?1 AND start < ?2")?
        .execute([form_no, end.saturating_sub(whole(SPAM_BYTES_MAX))])?;
    db.prepare_cached(
        "DELETE FROM spam WHERE form_no = ?1 AND start <=
            (SELECT start FROM spam WHERE form_no = ?1 ORDER BY start DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute([form_no, whole(SPAM_MAX)])?;
    Ok(())
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) fn list(db: &Connection, request: &SpamRequest) -> Result<Vec<SpamRecord>, StoreError> {
    let form_no = form_no(db, &request.form)?;
    let before = request.after.as_ref().map_or(Ok(i64::MAX), |id| start_of(db, form_no, id))?;
    let mut statement = db.prepare_cached(
        "SELECT id, data, received_us FROM spam WHERE form_no = ?1 AND start < ?2
         ORDER BY start DESC LIMIT ?3",
    )?;
    let rows = statement.query_map(params![form_no, before, request.limit], |row| {
        let (data, received): (String, i64) = (row.get(1)?, row.get(2)?);
        Ok((text_id(row, 0, SubmissionId::new)?, data, instant(received).to_timestamp()))
    })?;
    rows.map(|row| {
        let (id, data, received_at) = row?;
        let answers =
            Answers::parse(&data).map_err(|error| StoreError::Internal(Box::new(error)))?;
        Ok(SpamRecord { id, answers, received_at })
    })
    .collect()
}

/// Where something stands that is still kept.
fn start_of(db: &Connection, form_no: i64, id: &SubmissionId) -> Result<i64, StoreError> {
    db.prepare_cached("SELECT start FROM spam WHERE form_no = ?1 AND id = ?2")?
        .query_row(params![form_no, id.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| StoreError::NotFound { what: "spam", value: id.as_str().into() })
}
