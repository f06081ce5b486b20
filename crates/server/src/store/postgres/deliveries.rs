//! Deliveries as people look at them, and the resend they can ask for, in SQL.

use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::GenericClient;
use formsvc_protocol::{DeliveryId, EndpointId, FormInstant, SubmissionId};
use tokio_postgres::Row;

use super::claims::state_of;
use super::endpoints::{endpoint_no, status_of};
use super::forms::form_no;
use super::pages::SEQ_BITS;
use super::rows::{
    Params, column, count, execute, instant, instant_opt, query, query_opt, text_id,
};
use crate::store::rules::place_of_resend;
use crate::store::{
    Attempt, Backlog, DeliveriesRequest, DeliveryDetail, DeliveryKey, DeliveryRecord,
    DeliveryState, ENDPOINT_DISABLED, ENDPOINT_REMOVED, EndpointNo, EndpointStatus, Lane,
    StoreError,
};

const DELIVERY: &str = "SELECT d.submission, d.endpoint_no, e.id, e.url, s.id, d.state, d.attempts,
        s.instant_us, d.next_us, d.finished_us, a.status, a.error
    FROM deliveries d JOIN submissions s ON s.key = d.submission JOIN endpoints e USING (endpoint_no)
        LEFT JOIN attempts a ON a.submission = d.submission AND a.endpoint_no = d.endpoint_no
            AND a.number = d.attempts";

fn delivery_at(row: &Row) -> Result<DeliveryRecord, StoreError> {
    let created = instant(row, 7)?;
    let state = state_of(column(row, 5)?)?;
    // What is to be resent at once has been due since the submission was made.
    let next = instant_opt(row, 8)?.map(|next| next.max(created));
    let next = if state == DeliveryState::Pending { next.or(Some(created)) } else { next };
    Ok(DeliveryRecord {
        key: DeliveryKey { submission: column(row, 0)?, endpoint: EndpointNo(column(row, 1)?) },
        endpoint: text_id(row, 2, EndpointId::new)?,
        url: column(row, 3)?,
        submission: text_id(row, 4, SubmissionId::new)?,
        state,
        attempts: count(row, 6)?,
        created_at: created.to_timestamp(),
        next_attempt_at: next.map(FormInstant::to_timestamp),
        finished_at: instant_opt(row, 9)?.map(FormInstant::to_timestamp),
        last_status: status_at(row, 10)?,
        last_error: column(row, 11)?,
    })
}

pub(super) async fn list(
    db: &impl GenericClient,
    request: &DeliveriesRequest,
) -> Result<Vec<DeliveryRecord>, StoreError> {
    let form_no = form_no(db, &request.form).await?;
    let endpoint = match &request.endpoint {
        Some(id) => Some(endpoint_no(db, id).await?.0),
        None => None,
    };
    let (mut first, mut after_last) = (form_no << SEQ_BITS, (form_no + 1) << SEQ_BITS);
    if let Some(id) = &request.submission {
        let sql = "SELECT key FROM submissions WHERE id = $1 AND form_no = $2";
        let found = query_opt(db, sql, &[&id.as_str(), &form_no]).await?;
        let Some(found) = found else { return Ok(Vec::new()) };
        first = column(&found, 0)?;
        after_last = first + 1;
    }
    let end = (after_last, i64::MIN);
    let end = request.after.map_or(end, |key| end.min((key.submission, key.endpoint.0)));
    let state = request.state.map(|state| state as i16);
    let limit = i64::from(request.limit);
    // As the index of rare states has it, or it would not be used.
    let rare = match request.state {
        Some(DeliveryState::Retrying | DeliveryState::Failed | DeliveryState::Canceled) => {
            "AND d.state IN (1, 3, 4)"
        }
        _ => "",
    };
    let sql = format!(
        "{DELIVERY} WHERE d.submission >= $1 AND (d.submission, d.endpoint_no) < ($2, $3)
            AND ($4::bigint IS NULL OR d.endpoint_no = $4)
            AND ($5::smallint IS NULL OR d.state = $5) {rare}
         ORDER BY d.submission DESC, d.endpoint_no DESC LIMIT $6"
    );
    let params: Params<'_> = &[&first, &end.0, &end.1, &endpoint, &state, &limit];
    query(db, &sql, params).await?.iter().map(delivery_at).collect()
}

fn no_delivery(id: &DeliveryId) -> StoreError {
    StoreError::NotFound { what: "delivery", value: id.as_str().into() }
}

async fn record(
    db: &impl GenericClient,
    key: DeliveryKey,
) -> Result<Option<DeliveryRecord>, StoreError> {
    let sql = format!("{DELIVERY} WHERE d.submission = $1 AND d.endpoint_no = $2");
    let found = query_opt(db, &sql, &[&key.submission, &key.endpoint.0]).await?;
    found.as_ref().map(delivery_at).transpose()
}

pub(super) async fn detail(
    db: &impl GenericClient,
    id: &DeliveryId,
) -> Result<Option<DeliveryDetail>, StoreError> {
    let Some(key) = DeliveryKey::from_id(id) else { return Ok(None) };
    let Some(record) = record(db, key).await? else { return Ok(None) };
    let sql = "SELECT started_us, duration_us, status, error, detail, address, snippet, resend
        FROM attempts WHERE submission = $1 AND endpoint_no = $2 ORDER BY number";
    let rows = query(db, sql, &[&key.submission, &key.endpoint.0]).await?;
    let history = rows.iter().map(attempt_at).collect::<Result<_, _>>()?;
    Ok(Some(DeliveryDetail { record, history }))
}

/// The status of an answer.
fn status_at(row: &Row, at: usize) -> Result<Option<u16>, StoreError> {
    Ok(column::<Option<i32>>(row, at)?.and_then(|status| u16::try_from(status).ok()))
}

fn attempt_at(row: &Row) -> Result<Attempt, StoreError> {
    Ok(Attempt {
        started_at: instant(row, 0)?,
        duration: Duration::from_micros(column::<i64>(row, 1)?.unsigned_abs()),
        status: status_at(row, 2)?,
        error: column(row, 3)?,
        detail: column(row, 4)?,
        address: column(row, 5)?,
        snippet: Bytes::from(column::<Vec<u8>>(row, 6)?),
        resend: column(row, 7)?,
    })
}

pub(super) async fn resend(
    db: &impl GenericClient,
    id: &DeliveryId,
) -> Result<DeliveryRecord, StoreError> {
    let key = DeliveryKey::from_id(id).ok_or_else(|| no_delivery(id))?;
    let of_key: Params<'_> = &[&key.submission, &key.endpoint.0];
    // Nobody resends it, and its endpoint is not removed, at the same time.
    let sql = "SELECT e.status FROM deliveries d JOIN endpoints e USING (endpoint_no)
        WHERE d.submission = $1 AND d.endpoint_no = $2 FOR UPDATE OF d FOR SHARE OF e";
    let found = query_opt(db, sql, of_key).await?.ok_or_else(|| no_delivery(id))?;
    let refused = |rule| StoreError::Invalid { what: "delivery", value: id.as_str().into(), rule };
    let status = status_of(column(&found, 0)?)?;
    match status {
        EndpointStatus::Enabled => {}
        EndpointStatus::Disabled => return Err(refused(ENDPOINT_DISABLED)),
        EndpointStatus::Removed => return Err(refused(ENDPOINT_REMOVED)),
    }
    let sql = "SELECT lane, at_us, resend FROM queue WHERE submission = $1 AND endpoint_no = $2 FOR UPDATE";
    let queued = query_opt(db, sql, of_key).await?;
    let mut stood = None;
    if let Some(row) = queued {
        let lane: i16 = column(&row, 0)?;
        if lane == Lane::Leased as i16 {
            return Err(refused("is being attempted now"));
        }
        if lane == Lane::Late as i16 {
            stood = Some((instant(&row, 1)?, column(&row, 2)?));
        }
    }
    let sql = "INSERT INTO queue (endpoint_no, submission, lane, at_us, retries, claims, resend)
        VALUES ($2, $1, $3, $4, 0, 0, true)
        ON CONFLICT (endpoint_no, submission) DO UPDATE
            SET lane = excluded.lane, at_us = excluded.at_us, resend = true";
    let at_once = place_of_resend(stood).micros();
    let params: Params<'_> = &[&key.submission, &key.endpoint.0, &(Lane::Late as i16), &at_once];
    execute(db, sql, params).await?;
    let sql = "UPDATE deliveries SET next_us = $3 WHERE submission = $1 AND endpoint_no = $2";
    execute(db, sql, &[&key.submission, &key.endpoint.0, &at_once]).await?;
    record(db, key).await?.ok_or_else(|| no_delivery(id))
}

/// Counts what is to be attempted, claimed or not.
pub(super) async fn backlog(db: &impl GenericClient) -> Result<Backlog, StoreError> {
    let row = query_opt(db, "SELECT count(*) FROM queue", &[]).await?;
    let count: i64 = row.map(|row| column(&row, 0)).transpose()?.unwrap_or(0);
    Ok(Backlog { unfinished: count.unsigned_abs() })
}
