//! Webhook endpoints, in SQL.

use std::time::Duration;

use formsvc_protocol::{EndpointId, FormId, FormInstant, UserId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{instant, text_id};
use super::forms::form_no;
use super::leases;
use crate::store::{
    ClaimedEndpoint, DeliveryKey, DeliveryState, ENDPOINT_URL, ENDPOINTS_FULL, ENDPOINTS_MAX,
    EndpointNo, EndpointRecord, EndpointStatus, NewEndpoint, OwnedEndpoint, SealedSecret,
    StoreError,
};

/// Deliveries canceled in one transaction.
const CANCELED_AT_ONCE: u32 = 500;

const ENDPOINT: &str = "SELECT e.id, f.id, e.url, e.status, e.created_us,
        CASE WHEN e.previous_until_us > ?2 THEN e.previous_until_us END, u.id
    FROM endpoints e JOIN forms f USING (form_no) JOIN users u USING (user_no)";

fn endpoint_at(row: &Row<'_>) -> rusqlite::Result<EndpointRecord> {
    Ok(EndpointRecord {
        id: text_id(row, 0, EndpointId::new)?,
        form: text_id(row, 1, FormId::new)?,
        url: row.get(2)?,
        status: status_of(row.get_ref(3)?.as_str()?),
        created_at: instant(row.get(4)?).to_timestamp(),
        previous_secret_until: row.get::<_, Option<i64>>(5)?.map(|us| instant(us).to_timestamp()),
    })
}

fn status_of(text: &str) -> EndpointStatus {
    let known = EndpointStatus::ALL.iter().find(|(_, known)| *known == text);
    known.expect("the table allows no other text").0
}

fn no_endpoint(id: &EndpointId) -> StoreError {
    StoreError::NotFound { what: "endpoint", value: id.as_str().into() }
}

/// An endpoint, also a removed one.
fn endpoint(
    db: &Connection,
    id: &EndpointId,
    now: FormInstant,
) -> Result<EndpointRecord, StoreError> {
    db.prepare_cached(&format!("{ENDPOINT} WHERE e.id = ?1"))?
        .query_row(params![id.as_str(), now.micros()], endpoint_at)
        .optional()?
        .ok_or_else(|| no_endpoint(id))
}

/// An endpoint with its owner, also a removed one.
pub(super) fn owned(
    db: &Connection,
    id: &EndpointId,
    now: FormInstant,
) -> Result<Option<OwnedEndpoint>, StoreError> {
    let found = db.prepare_cached(&format!("{ENDPOINT} WHERE e.id = ?1"))?.query_row(
        params![id.as_str(), now.micros()],
        |row| {
            let (endpoint, owner) = (endpoint_at(row)?, text_id(row, 6, UserId::new)?);
            Ok(OwnedEndpoint { endpoint, owner })
        },
    );
    Ok(found.optional()?)
}

/// An endpoint as a delivery to it would be made now.
pub(super) fn signing(
    db: &Connection,
    id: &EndpointId,
    now: FormInstant,
) -> Result<Option<ClaimedEndpoint>, StoreError> {
    let found = db
        .prepare_cached(
            "SELECT e.endpoint_no, e.id, f.id, e.url, e.secret,
                CASE WHEN e.previous_until_us > ?2 THEN e.previous_secret END
             FROM endpoints e JOIN forms f USING (form_no)
             WHERE e.id = ?1 AND e.status <> 'removed'",
        )?
        .query_row(params![id.as_str(), now.micros()], |row| {
            Ok(ClaimedEndpoint {
                number: EndpointNo(row.get(0)?),
                id: text_id(row, 1, EndpointId::new)?,
                form: text_id(row, 2, FormId::new)?,
                url: row.get(3)?,
                secret: SealedSecret(row.get(4)?),
                previous_secret: row.get::<_, Option<Vec<u8>>>(5)?.map(SealedSecret),
            })
        });
    Ok(found.optional()?)
}

/// The number of an endpoint, also of a removed one.
pub(super) fn endpoint_no(db: &Connection, id: &EndpointId) -> Result<EndpointNo, StoreError> {
    db.prepare_cached("SELECT endpoint_no FROM endpoints WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0).map(EndpointNo))
        .optional()?
        .ok_or_else(|| no_endpoint(id))
}

pub(super) fn add(
    db: &Connection,
    new: &NewEndpoint,
    now: FormInstant,
) -> Result<EndpointRecord, StoreError> {
    let form_no = form_no(db, &new.form)?;
    check_room(db, form_no, new)?;
    let added = db
        .prepare_cached(
            "INSERT INTO endpoints (id, form_no, url, status, secret, created_us)
             VALUES (?1, ?2, ?3, 'enabled', ?4, ?5) ON CONFLICT (id) DO NOTHING",
        )?
        .execute(params![new.id.as_str(), form_no, new.url, new.secret.0, now.micros()])?;
    if added == 0 {
        return Err(StoreError::Exists { what: "endpoint id", value: new.id.as_str().into() });
    }
    endpoint(db, &new.id, now)
}

/// Refuses a second endpoint with the URL, and one too many. A URL may carry a token, so that messages
/// name the endpoint that has it.
fn check_room(db: &Connection, form_no: i64, new: &NewEndpoint) -> Result<(), StoreError> {
    let mut others = db.prepare_cached(
        "SELECT id, url = ?2 FROM endpoints WHERE form_no = ?1 AND status <> 'removed'",
    )?;
    let others: Vec<(String, bool)> = others
        .query_map(params![form_no, new.url], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    if let Some((value, _)) = others.iter().find(|(id, same)| *same && id != new.id.as_str()) {
        return Err(StoreError::Exists { what: ENDPOINT_URL, value: value.clone() });
    }
    if others.len() >= ENDPOINTS_MAX {
        let (what, value) = ("form", new.form.as_str().into());
        return Err(StoreError::Invalid { what, value, rule: ENDPOINTS_FULL });
    }
    Ok(())
}

pub(super) fn list(
    db: &Connection,
    form: &FormId,
    now: FormInstant,
) -> Result<Vec<EndpointRecord>, StoreError> {
    let sql =
        format!("{ENDPOINT} WHERE e.form_no = ?1 AND e.status <> 'removed' ORDER BY e.endpoint_no");
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(params![form_no(db, form)?, now.micros()], endpoint_at)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The enabled ones of all forms.
pub(super) fn enabled(
    db: &Connection,
    now: FormInstant,
) -> Result<Vec<EndpointRecord>, StoreError> {
    let sql = format!("{ENDPOINT} WHERE e.status = ?1 ORDER BY e.endpoint_no");
    let mut statement = db.prepare(&sql)?;
    let enabled = EndpointStatus::Enabled.as_str();
    let rows = statement.query_map(params![enabled, now.micros()], endpoint_at)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// The status of an endpoint; one that is not there was removed.
pub(super) fn status(db: &Connection, endpoint: EndpointNo) -> Result<EndpointStatus, StoreError> {
    let status = db
        .prepare_cached("SELECT status FROM endpoints WHERE endpoint_no = ?1")?
        .query_row([endpoint.0], |row| Ok(status_of(row.get_ref(0)?.as_str()?)))
        .optional()?;
    Ok(status.unwrap_or(EndpointStatus::Removed))
}

/// The secrets of all that were not removed, oldest first.
pub(super) fn sealed(db: &Connection) -> Result<Vec<(EndpointId, SealedSecret)>, StoreError> {
    let sql = "SELECT id, secret FROM endpoints WHERE status <> 'removed' ORDER BY endpoint_no";
    let mut statement = db.prepare(sql)?;
    let rows = statement
        .query_map([], |row| Ok((text_id(row, 0, EndpointId::new)?, SealedSecret(row.get(1)?))))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn rotate_secret(
    db: &Connection,
    id: &EndpointId,
    secret: &SealedSecret,
    grace: Duration,
    now: FormInstant,
) -> Result<EndpointRecord, StoreError> {
    let until = (!grace.is_zero()).then(|| now.plus(grace).micros());
    let changed = db
        .prepare_cached(
            "UPDATE endpoints SET previous_secret = CASE WHEN ?3 IS NOT NULL THEN secret END,
                previous_until_us = ?3, secret = ?2
             WHERE id = ?1 AND status <> 'removed'",
        )?
        .execute(params![id.as_str(), secret.0, until])?;
    if changed == 0 { Err(no_endpoint(id)) } else { endpoint(db, id, now) }
}

/// Enables or disables; also says which endpoint has work again.
pub(super) fn set_enabled(
    db: &Connection,
    id: &EndpointId,
    enabled: bool,
    now: FormInstant,
) -> Result<(EndpointRecord, EndpointNo), StoreError> {
    let status = if enabled { EndpointStatus::Enabled } else { EndpointStatus::Disabled };
    let changed = db
        .prepare_cached("UPDATE endpoints SET status = ?2 WHERE id = ?1 AND status <> 'removed'")?
        .execute([id.as_str(), status.as_str()])?;
    if changed == 0 {
        return Err(no_endpoint(id));
    }
    Ok((endpoint(db, id, now)?, endpoint_no(db, id)?))
}

/// The first step of a removal: from here on nothing is claimed and nothing new is made.
pub(super) fn begin_removal(
    db: &Connection,
    id: &EndpointId,
    now: FormInstant,
) -> Result<(EndpointRecord, EndpointNo), StoreError> {
    db.prepare_cached(
        "UPDATE endpoints SET status = 'removed', secret = x'', previous_secret = NULL,
            previous_until_us = NULL WHERE id = ?1",
    )?
    .execute([id.as_str()])?;
    Ok((endpoint(db, id, now)?, endpoint_no(db, id)?))
}

/// An endpoint whose removal is not finished, if there is one.
pub(super) fn being_removed(db: &Connection) -> Result<Option<EndpointNo>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT e.endpoint_no FROM endpoints e WHERE e.status = 'removed'
            AND (EXISTS (SELECT 1 FROM queue q WHERE q.endpoint_no = e.endpoint_no)
                OR EXISTS (SELECT 1 FROM leases l WHERE l.endpoint_no = e.endpoint_no)) LIMIT 1",
    )?;
    Ok(statement.query_row([], |row| row.get(0).map(EndpointNo)).optional()?)
}

/// A step of a removal.
pub(super) struct Canceled {
    /// Deliveries that were canceled.
    pub(super) deliveries: u64,
    /// Whether it was the last.
    pub(super) all: bool,
}

/// Cancels some of a removed endpoint's deliveries.
pub(super) fn cancel_some(
    db: &Connection,
    endpoint: EndpointNo,
    now: FormInstant,
) -> Result<Canceled, StoreError> {
    let mut deliveries = 0;
    // What is claimed first: no outcome of it counts any more.
    for held in leases::end(db, endpoint)? {
        let key = DeliveryKey { submission: held.submission, endpoint };
        deliveries += u64::from(cancel(db, key, now)?);
    }
    let mut found = db.prepare_cached(
        "SELECT lane, at_us, submission FROM queue WHERE endpoint_no = ?1 LIMIT ?2",
    )?;
    let rows = found.query_map(params![endpoint.0, CANCELED_AT_ONCE], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let rows: Vec<(i64, i64, i64)> = rows.collect::<Result<_, _>>()?;
    let mut forget = db.prepare_cached(
        "DELETE FROM queue WHERE endpoint_no = ?1 AND lane = ?2 AND at_us = ?3 AND submission = ?4",
    )?;
    for (lane, at, submission) in &rows {
        let key = DeliveryKey { submission: *submission, endpoint };
        deliveries += u64::from(cancel(db, key, now)?);
        forget.execute(params![endpoint.0, lane, at, submission])?;
    }
    Ok(Canceled { deliveries, all: rows.len() < CANCELED_AT_ONCE as usize })
}

/// Cancels a delivery; `false` when it was finished and is being resent: then it keeps its end.
fn cancel(db: &Connection, key: DeliveryKey, now: FormInstant) -> Result<bool, StoreError> {
    let mut cancel = db.prepare_cached(
        "UPDATE deliveries SET next_us = NULL, state = iif(state IN (?5, ?6), ?3, state),
            finished_us = iif(state IN (?5, ?6), ?4, finished_us)
         WHERE submission = ?1 AND endpoint_no = ?2 RETURNING state = ?3",
    )?;
    let canceled = DeliveryState::Canceled as i64;
    let [pending, retrying] = [DeliveryState::Pending, DeliveryState::Retrying].map(|s| s as i64);
    let values = params![key.submission, key.endpoint.0, canceled, now.micros(), pending, retrying];
    Ok(cancel.query_row(values, |row| row.get(0)).optional()?.unwrap_or(false))
}
