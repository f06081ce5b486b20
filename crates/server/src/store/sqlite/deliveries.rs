//! Deliveries as people look at them, and the resend they can ask for, in SQL.

use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{DeliveryId, EndpointId, FormInstant};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{StoredId, instant, stored_id, text_id};
use super::endpoints::{self, endpoint_no};
use super::forms::form_no;
use super::leases;
use super::queue::{self, Entry, state_at};
use super::submissions::keys_of;
use crate::store::rules::place_of_resend;
use crate::store::{
    Attempt, Backlog, DeliveriesRequest, DeliveryDetail, DeliveryKey, DeliveryRecord,
    DeliveryState, ENDPOINT_DISABLED, ENDPOINT_REMOVED, EndpointNo, EndpointStatus, Lane,
    StoreError,
};

const DELIVERY: &str = "SELECT d.submission, d.endpoint_no, e.id, e.url, s.id, d.state, d.attempts,
        s.instant_us, d.next_us, d.finished_us, d.last_status, d.last_error
    FROM deliveries d JOIN submissions s ON s.key = d.submission JOIN endpoints e USING (endpoint_no)";

fn delivery_at(row: &Row<'_>) -> rusqlite::Result<DeliveryRecord> {
    let created = instant(row.get(7)?);
    let state = state_at(row, 5)?;
    // What is to be resent at once has been due since the submission was made.
    let next = row.get::<_, Option<i64>>(8)?.map(|next| instant(next).max(created));
    let next = if state == DeliveryState::Pending { next.or(Some(created)) } else { next };
    Ok(DeliveryRecord {
        key: DeliveryKey { submission: row.get(0)?, endpoint: EndpointNo(row.get(1)?) },
        endpoint: text_id(row, 2, EndpointId::new)?,
        url: row.get(3)?,
        submission: stored_id(row, 4)?,
        state,
        attempts: row.get(6)?,
        last_status: row.get(10)?,
        last_error: row.get(11)?,
        created_at: created.to_timestamp(),
        next_attempt_at: next.map(FormInstant::to_timestamp),
        finished_at: row.get::<_, Option<i64>>(9)?.map(|us| instant(us).to_timestamp()),
    })
}

/// The statement of a list: neighbours in the table, or in the index of rare states. What is not
/// asked for is left out, so that one of them gives the order.
pub(super) fn list_sql(endpoint: Option<EndpointNo>, state: Option<DeliveryState>) -> String {
    let endpoint = endpoint.map(|number| format!("AND d.endpoint_no = {}", number.0));
    let state = state.map(|state| match state {
        DeliveryState::Pending | DeliveryState::Delivered => {
            format!("AND d.state = {}", state as i64)
        }
        // As the index has it, or it would not be used.
        _ => format!("AND d.state = {} AND d.state <> 0 AND d.state <> 2", state as i64),
    });
    let (endpoint, state) = (endpoint.unwrap_or_default(), state.unwrap_or_default());
    format!(
        "{DELIVERY} WHERE d.submission >= ?1 AND (d.submission, d.endpoint_no) < (?2, ?3)
            {endpoint} {state}
         ORDER BY d.submission DESC, d.endpoint_no DESC LIMIT ?4"
    )
}

pub(super) fn list(
    db: &Connection,
    request: &DeliveriesRequest,
) -> Result<Vec<DeliveryRecord>, StoreError> {
    let (mut first, mut last) = keys_of(form_no(db, &request.form)?).into_inner();
    if let Some(id) = &request.submission {
        let key: Option<i64> = db
            .prepare_cached("SELECT key FROM submissions WHERE id = ?1 AND key BETWEEN ?2 AND ?3")?
            .query_row(params![StoredId::new(id), first, last], |row| row.get(0))
            .optional()?;
        let Some(key) = key else { return Ok(Vec::new()) };
        (first, last) = (key, key);
    }
    let endpoint = request.endpoint.as_ref().map(|id| endpoint_no(db, id)).transpose()?;
    let end = (last + 1, i64::MIN);
    let end = request.after.map_or(end, |key| end.min((key.submission, key.endpoint.0)));
    let mut statement = db.prepare(&list_sql(endpoint, request.state))?;
    let rows = statement.query_map(params![first, end.0, end.1, request.limit], delivery_at)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn no_delivery(id: &DeliveryId) -> StoreError {
    StoreError::NotFound { what: "delivery", value: id.as_str().into() }
}

fn record(db: &Connection, key: DeliveryKey) -> Result<Option<DeliveryRecord>, StoreError> {
    let found = db
        .prepare_cached(&format!("{DELIVERY} WHERE d.submission = ?1 AND d.endpoint_no = ?2"))?
        .query_row([key.submission, key.endpoint.0], delivery_at)
        .optional()?;
    Ok(found)
}

pub(super) fn detail(
    db: &Connection,
    id: &DeliveryId,
) -> Result<Option<DeliveryDetail>, StoreError> {
    let Some(key) = DeliveryKey::from_id(id) else { return Ok(None) };
    let Some(record) = record(db, key)? else { return Ok(None) };
    let mut statement = db.prepare_cached(
        "SELECT started_us, duration_us, status, error, detail, address, snippet, resend, number
         FROM attempts WHERE submission = ?1 AND endpoint_no = ?2
         UNION ALL SELECT last_started_us, last_duration_us, last_status, last_error, last_detail,
            last_address, last_snippet, last_resend, attempts
         FROM deliveries WHERE submission = ?1 AND endpoint_no = ?2 AND attempts > 0
         ORDER BY number",
    )?;
    let rows = statement.query_map([key.submission, key.endpoint.0], |row| {
        let snippet: Vec<u8> = row.get(6)?;
        Ok(Attempt {
            started_at: instant(row.get(0)?),
            duration: Duration::from_micros(row.get::<_, i64>(1)?.unsigned_abs()),
            status: row.get(2)?,
            error: row.get(3)?,
            detail: row.get(4)?,
            address: row.get(5)?,
            snippet: Bytes::from(snippet),
            resend: row.get(7)?,
        })
    })?;
    Ok(Some(DeliveryDetail { record, history: rows.collect::<Result<_, _>>()? }))
}

pub(super) fn resend(db: &Connection, id: &DeliveryId) -> Result<DeliveryRecord, StoreError> {
    let key = DeliveryKey::from_id(id).ok_or_else(|| no_delivery(id))?;
    if record(db, key)?.is_none() {
        return Err(no_delivery(id));
    }
    let refused = |rule| StoreError::Invalid { what: "delivery", value: id.as_str().into(), rule };
    match endpoints::status(db, key.endpoint)? {
        EndpointStatus::Enabled => {}
        EndpointStatus::Disabled => return Err(refused(ENDPOINT_DISABLED)),
        EndpointStatus::Removed => return Err(refused(ENDPOINT_REMOVED)),
    }
    if leases::holds(db, key)? {
        return Err(refused("is being attempted now"));
    }
    let (mut retries, mut claims, mut late) = (0, 0, None);
    if let Some(entry) = queue::find(db, key)? {
        queue::remove(db, &entry)?;
        (retries, claims) = (entry.retries, entry.claims);
        late = (entry.lane == Lane::Late).then_some((entry.at, entry.resend));
    }
    let at = place_of_resend(late);
    queue::insert(
        db,
        &Entry {
            endpoint: key.endpoint,
            lane: Lane::Late,
            at,
            submission: key.submission,
            retries,
            claims,
            resend: true,
        },
    )?;
    db.prepare_cached(
        "UPDATE deliveries SET next_us = ?3 WHERE submission = ?1 AND endpoint_no = ?2",
    )?
    .execute([key.submission, key.endpoint.0, at.micros()])?;
    record(db, key)?.ok_or_else(|| no_delivery(id))
}

/// Deliveries in the queue, and bytes of those under leases, at one moment.
const BACKLOG: &str =
    "SELECT (SELECT count(*) FROM queue), (SELECT coalesce(sum(length(held)), 0) FROM leases)";

pub(super) fn backlog(db: &Connection) -> Result<Backlog, StoreError> {
    let (waiting, held): (i64, i64) =
        db.prepare_cached(BACKLOG)?.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let held = held.unsigned_abs() / leases::HELD_LEN as u64;
    Ok(Backlog { unfinished: waiting.unsigned_abs() + held })
}
