//! What machines sent to forms, kept apart.

use deadpool_postgres::GenericClient;
use formsvc_protocol::{Answers, SubmissionId};

use super::rows::{Params, column, execute, query, query_opt, text_id, timestamp};
use crate::store::rules::no_form;
use crate::store::{NewSpam, SPAM_BYTES_MAX, SPAM_MAX, SpamRecord, SpamRequest, StoreError, item};

pub(super) async fn keep(
    db: &impl GenericClient,
    new: &NewSpam,
    now: Option<i64>,
) -> Result<(), StoreError> {
    item::check_size(&new.answers)?;
    // Locked, so that one of them comes after the other. Its submissions do not wait for that.
    let sql = "SELECT form_no FROM forms WHERE id = $1 AND ready FOR KEY SHARE";
    let row = query_opt(db, sql, &[&new.form.as_str()]).await?;
    let form_no: i64 = column(&row.ok_or_else(|| no_form(&new.form))?, 0)?;
    execute(db, "SELECT pg_advisory_xact_lock(hashtextextended('spam', $1))", &[&form_no]).await?;
    let sql = "INSERT INTO spam (form_no, start, id, data, received_us)
        SELECT $1, coalesce((SELECT start + octet_length(data) FROM spam WHERE form_no = $1
            ORDER BY start DESC LIMIT 1), 0), $2, $3, now_us($4) RETURNING start";
    let data = new.answers.as_json();
    let row = query_opt(db, sql, &[&form_no, &new.id.as_str(), &data, &now]).await?;
    let start: i64 = row.map(|row| column(&row, 0)).transpose()?.unwrap_or(0);
    let oldest = start.saturating_add(whole(data.len())).saturating_sub(whole(SPAM_BYTES_MAX));
    // The oldest go first. Each is longer than nothing, so that no two begin at one place.
    let sql = "DELETE FROM spam WHERE form_no = $1 AND (start < $2 OR start <=
        (SELECT start FROM spam WHERE form_no = $1 ORDER BY start DESC LIMIT 1 OFFSET $3))";
    execute(db, sql, &[&form_no, &oldest, &whole(SPAM_MAX)]).await?;
    Ok(())
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(super) async fn list(
    db: &impl GenericClient,
    request: &SpamRequest,
) -> Result<Vec<SpamRecord>, StoreError> {
    let form_no = super::forms::form_no(db, &request.form).await?;
    let before = match &request.after {
        Some(id) => start_of(db, form_no, id).await?,
        None => i64::MAX,
    };
    let sql = "SELECT id, data, received_us FROM spam WHERE form_no = $1 AND start < $2
        ORDER BY start DESC LIMIT $3";
    let params: Params<'_> = &[&form_no, &before, &i64::from(request.limit)];
    let rows = query(db, sql, params).await?;
    rows.iter()
        .map(|row| {
            let answers = Answers::parse(column::<&str>(row, 1)?);
            let answers = answers.map_err(|error| StoreError::Internal(Box::new(error)))?;
            let (id, received_at) = (text_id(row, 0, SubmissionId::new)?, timestamp(row, 2)?);
            Ok(SpamRecord { id, answers, received_at })
        })
        .collect()
}

/// Where something stands that is still kept.
async fn start_of(
    db: &impl GenericClient,
    form_no: i64,
    id: &SubmissionId,
) -> Result<i64, StoreError> {
    let sql = "SELECT start FROM spam WHERE form_no = $1 AND id = $2";
    let row = query_opt(db, sql, &[&form_no, &id.as_str()]).await?;
    let none = || StoreError::NotFound { what: "spam", value: id.as_str().into() };
    column(&row.ok_or_else(none)?, 0)
}
