//! What machines sent to forms, kept apart.

use formsvc_protocol::{Answers, FormId, FormInstant, SubmissionId};
use rusqlite::{Connection, params};

use super::columns::{instant, text_id};
use super::forms::form_no;
use crate::store::{NewSpam, SpamRecord, StoreError, item};

/// Kept of each form; the oldest goes first, so that a machine cannot fill the disk this way.
const KEPT: i64 = 1_000;

pub(super) fn keep(db: &Connection, new: &NewSpam, now: FormInstant) -> Result<(), StoreError> {
    item::check_size(&new.answers)?;
    let form_no = form_no(db, &new.form)?;
    db.prepare_cached("INSERT INTO spam (form_no, id, data, received_us) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![form_no, new.id.as_str(), new.answers.as_json(), now.micros()])?;
    db.prepare_cached(
        "DELETE FROM spam WHERE form_no = ?1 AND spam_no <=
            (SELECT spam_no FROM spam WHERE form_no = ?1 ORDER BY spam_no DESC LIMIT 1 OFFSET ?2)",
    )?
    .execute([form_no, KEPT])?;
    Ok(())
}

pub(super) fn list(db: &Connection, form: &FormId) -> Result<Vec<SpamRecord>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT id, data, received_us FROM spam WHERE form_no = ?1 ORDER BY spam_no DESC",
    )?;
    let rows = statement.query_map([form_no(db, form)?], |row| {
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
