//! Webhook endpoints, in SQL.

use std::time::Duration;

use deadpool_postgres::GenericClient;
use formsvc_protocol::{EndpointId, FormId, FormInstant, UserId};
use tokio_postgres::Row;

use super::forms::form_no;
use super::rows::{Params, column, execute, instant_opt, query, query_opt, text_id, timestamp};
use crate::store::rules::no_form;
use crate::store::{
    ClaimedEndpoint, DeliveryState, ENDPOINT_URL, ENDPOINTS_FULL, ENDPOINTS_MAX, EndpointNo,
    EndpointRecord, EndpointStatus, NewEndpoint, OwnedEndpoint, SealedSecret, StoreError,
};

/// Deliveries canceled in one transaction.
const CANCELED_AT_ONCE: i64 = 500;

const ENDPOINT: &str = "SELECT e.id, f.id, e.url, e.status, e.created_us,
        CASE WHEN e.previous_until_us > now_us($2) THEN e.previous_until_us END, e.endpoint_no,
        u.id
    FROM endpoints e JOIN forms f USING (form_no) JOIN users u USING (user_no)";

fn endpoint_at(row: &Row) -> Result<EndpointRecord, StoreError> {
    Ok(EndpointRecord {
        id: text_id(row, 0, EndpointId::new)?,
        form: text_id(row, 1, FormId::new)?,
        url: column(row, 2)?,
        status: status_of(column(row, 3)?)?,
        created_at: timestamp(row, 4)?,
        previous_secret_until: instant_opt(row, 5)?.map(FormInstant::to_timestamp),
    })
}

pub(super) fn status_of(text: &str) -> Result<EndpointStatus, StoreError> {
    let known = EndpointStatus::ALL.iter().find(|(_, known)| *known == text);
    known
        .map(|(status, _)| *status)
        .ok_or_else(|| StoreError::Internal("an endpoint's status is none".into()))
}

fn no_endpoint(id: &EndpointId) -> StoreError {
    StoreError::NotFound { what: "endpoint", value: id.as_str().into() }
}

/// An endpoint, also a removed one, and its number.
async fn endpoint(
    db: &impl GenericClient,
    id: &EndpointId,
    now: Option<i64>,
) -> Result<(EndpointRecord, EndpointNo), StoreError> {
    let row = query_opt(db, &format!("{ENDPOINT} WHERE e.id = $1"), &[&id.as_str(), &now]).await?;
    let row = row.ok_or_else(|| no_endpoint(id))?;
    Ok((endpoint_at(&row)?, EndpointNo(column(&row, 6)?)))
}

/// An endpoint with its owner, also a removed one.
pub(super) async fn owned(
    db: &impl GenericClient,
    id: &EndpointId,
    now: Option<i64>,
) -> Result<Option<OwnedEndpoint>, StoreError> {
    let row = query_opt(db, &format!("{ENDPOINT} WHERE e.id = $1"), &[&id.as_str(), &now]).await?;
    let Some(row) = row else { return Ok(None) };
    let (endpoint, owner) = (endpoint_at(&row)?, text_id(&row, 7, UserId::new)?);
    Ok(Some(OwnedEndpoint { endpoint, owner }))
}

/// An endpoint as a delivery to it would be made now.
pub(super) async fn signing(
    db: &impl GenericClient,
    id: &EndpointId,
    now: Option<i64>,
) -> Result<Option<ClaimedEndpoint>, StoreError> {
    let sql = "SELECT e.endpoint_no, e.id, f.id, e.url, e.secret,
            CASE WHEN e.previous_until_us > now_us($2) THEN e.previous_secret END
        FROM endpoints e JOIN forms f USING (form_no)
        WHERE e.id = $1 AND e.status <> 'removed'";
    let Some(row) = query_opt(db, sql, &[&id.as_str(), &now]).await? else { return Ok(None) };
    Ok(Some(ClaimedEndpoint {
        number: EndpointNo(column(&row, 0)?),
        id: text_id(&row, 1, EndpointId::new)?,
        form: text_id(&row, 2, FormId::new)?,
        url: column(&row, 3)?,
        secret: SealedSecret(column(&row, 4)?),
        previous_secret: column::<Option<Vec<u8>>>(&row, 5)?.map(SealedSecret),
    }))
}

/// The number of an endpoint, also of a removed one.
pub(super) async fn endpoint_no(
    db: &impl GenericClient,
    id: &EndpointId,
) -> Result<EndpointNo, StoreError> {
    let sql = "SELECT endpoint_no FROM endpoints WHERE id = $1";
    let row = query_opt(db, sql, &[&id.as_str()]).await?;
    column(&row.ok_or_else(|| no_endpoint(id))?, 0).map(EndpointNo)
}

pub(super) async fn add(
    db: &impl GenericClient,
    new: &NewEndpoint,
    now: Option<i64>,
) -> Result<EndpointRecord, StoreError> {
    // Its form is locked, so that nobody adds another at the same time.
    let sql = "SELECT form_no FROM forms WHERE id = $1 AND ready FOR UPDATE";
    let row = query_opt(db, sql, &[&new.form.as_str()]).await?;
    let form_no: i64 = column(&row.ok_or_else(|| no_form(&new.form))?, 0)?;
    check_room(db, form_no, new).await?;
    let sql = "INSERT INTO endpoints (id, form_no, url, status, secret, created_us)
        VALUES ($1, $2, $3, 'enabled', $4, now_us($5)) ON CONFLICT (id) DO NOTHING";
    let params: Params<'_> = &[&new.id.as_str(), &form_no, &new.url, &new.secret.0, &now];
    if execute(db, sql, params).await? == 0 {
        return Err(StoreError::Exists { what: "endpoint id", value: new.id.as_str().into() });
    }
    Ok(endpoint(db, &new.id, now).await?.0)
}

/// Refuses a second endpoint with the URL, and one too many. A URL may carry a token, so that messages
/// name the endpoint that has it.
async fn check_room(
    db: &impl GenericClient,
    form_no: i64,
    new: &NewEndpoint,
) -> Result<(), StoreError> {
    let sql = "SELECT id, url = $2 FROM endpoints WHERE form_no = $1 AND status <> 'removed'";
    let others = query(db, sql, &[&form_no, &new.url]).await?;
    for row in &others {
        let (id, same): (&str, bool) = (column(row, 0)?, column(row, 1)?);
        if same && id != new.id.as_str() {
            return Err(StoreError::Exists { what: ENDPOINT_URL, value: id.into() });
        }
    }
    if others.len() >= ENDPOINTS_MAX {
        return Err(StoreError::Invalid {
            what: "form",
            value: new.form.as_str().into(),
            rule: ENDPOINTS_FULL,
        });
    }
    Ok(())
}

pub(super) async fn list(
    db: &impl GenericClient,
    form: &FormId,
    now: Option<i64>,
) -> Result<Vec<EndpointRecord>, StoreError> {
    let form_no = form_no(db, form).await?;
    let sql =
        format!("{ENDPOINT} WHERE e.form_no = $1 AND e.status <> 'removed' ORDER BY e.endpoint_no");
    query(db, &sql, &[&form_no, &now]).await?.iter().map(endpoint_at).collect()
}

/// The enabled endpoints of all forms, oldest first.
pub(super) async fn enabled(
    db: &impl GenericClient,
    now: Option<i64>,
) -> Result<Vec<EndpointRecord>, StoreError> {
    // The first value has no place in this list.
    let sql = format!(
        "{ENDPOINT} WHERE $1::text IS NULL AND e.status = 'enabled' ORDER BY e.endpoint_no"
    );
    query(db, &sql, &[&None::<&str>, &now]).await?.iter().map(endpoint_at).collect()
}

/// The secrets of all that were not removed, oldest first.
pub(super) async fn sealed(
    db: &impl GenericClient,
) -> Result<Vec<(EndpointId, SealedSecret)>, StoreError> {
    let sql = "SELECT id, secret FROM endpoints WHERE status <> 'removed' ORDER BY endpoint_no";
    let rows = query(db, sql, &[]).await?;
    let sealed = rows
        .iter()
        .map(|row| Ok((text_id(row, 0, EndpointId::new)?, SealedSecret(column(row, 1)?))));
    sealed.collect()
}

pub(super) async fn rotate_secret(
    db: &impl GenericClient,
    id: &EndpointId,
    secret: &SealedSecret,
    grace: Duration,
    now: Option<i64>,
) -> Result<EndpointRecord, StoreError> {
    let grace =
        (!grace.is_zero()).then(|| i64::try_from(grace.as_micros()).unwrap_or(i64::MAX / 4));
    let sql = "UPDATE endpoints SET secret = $2,
            previous_secret = CASE WHEN $3::bigint IS NOT NULL THEN secret END,
            previous_until_us = now_us($4) + $3
        WHERE id = $1 AND status <> 'removed'";
    let changed = execute(db, sql, &[&id.as_str(), &secret.0, &grace, &now]).await?;
    if changed == 0 { Err(no_endpoint(id)) } else { Ok(endpoint(db, id, now).await?.0) }
}

/// Enables or disables; also says which endpoint has work again.
pub(super) async fn set_enabled(
    db: &impl GenericClient,
    id: &EndpointId,
    enabled: bool,
    now: Option<i64>,
) -> Result<(EndpointRecord, EndpointNo), StoreError> {
    let status = if enabled { EndpointStatus::Enabled } else { EndpointStatus::Disabled };
    // The form's lock as well: who has it, to accept submissions, knows its enabled endpoints.
    let sql = "WITH form AS (SELECT f.form_no FROM endpoints e JOIN forms f USING (form_no)
            WHERE e.id = $1 FOR KEY SHARE OF f)
        UPDATE endpoints SET status = $2
        WHERE id = $1 AND form_no = (SELECT form_no FROM form) AND status <> 'removed'";
    if execute(db, sql, &[&id.as_str(), &status.as_str()]).await? == 0 {
        return Err(no_endpoint(id));
    }
    endpoint(db, id, now).await
}

/// The first step of a removal: from here on nothing is claimed and nothing new is made.
pub(super) async fn begin_removal(
    db: &impl GenericClient,
    id: &EndpointId,
    now: Option<i64>,
) -> Result<EndpointRecord, StoreError> {
    let sql = "UPDATE endpoints SET status = 'removed', secret = '', previous_secret = NULL,
        previous_until_us = NULL WHERE id = $1";
    execute(db, sql, &[&id.as_str()]).await?;
    Ok(endpoint(db, id, now).await?.0)
}

/// An endpoint whose removal is not finished, if there is one.
pub(super) async fn being_removed(
    db: &impl GenericClient,
) -> Result<Option<EndpointId>, StoreError> {
    let sql = "SELECT e.id FROM endpoints e WHERE e.status = 'removed'
        AND EXISTS (SELECT 1 FROM queue q WHERE q.endpoint_no = e.endpoint_no) LIMIT 1";
    query_opt(db, sql, &[]).await?.map(|row| text_id(&row, 0, EndpointId::new)).transpose()
}

/// A step of a removal.
pub(super) struct Canceled {
    /// Whether nothing is left.
    pub(super) all: bool,
    /// Deliveries that were canceled.
    pub(super) deliveries: u64,
}

/// Cancels some of a removed endpoint's deliveries, claimed or not. What was finished and is being
/// resent keeps its end.
pub(super) async fn cancel_some(
    db: &impl GenericClient,
    id: &EndpointId,
    now: Option<i64>,
) -> Result<Canceled, StoreError> {
    let endpoint = endpoint_no(db, id).await?;
    let sql = "WITH batch AS (SELECT submission FROM queue WHERE endpoint_no = $1
            ORDER BY submission LIMIT $2 FOR UPDATE),
        gone AS (DELETE FROM queue q USING batch
            WHERE q.endpoint_no = $1 AND q.submission = batch.submission RETURNING q.submission),
        n AS MATERIALIZED (SELECT now_us($3) AS us),
        before AS (SELECT d.submission, d.state FROM deliveries d JOIN gone USING (submission)
            WHERE d.endpoint_no = $1),
        ended AS (UPDATE deliveries d SET next_us = NULL,
                state = CASE WHEN b.state IN (0, 1) THEN $4 ELSE b.state END,
                finished_us = CASE WHEN b.state IN (0, 1) THEN n.us ELSE d.finished_us END
            FROM before b, n WHERE d.submission = b.submission AND d.endpoint_no = $1)
        SELECT (SELECT count(*) FROM gone), (SELECT count(*) FROM before WHERE state IN (0, 1))";
    let state = DeliveryState::Canceled as i16;
    let params: Params<'_> = &[&endpoint.0, &CANCELED_AT_ONCE, &now, &state];
    let row = query_opt(db, sql, params).await?;
    let row = row.ok_or_else(|| StoreError::Internal("a count without a row".into()))?;
    let (gone, deliveries): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
    Ok(Canceled { all: gone < CANCELED_AT_ONCE, deliveries: deliveries.unsigned_abs() })
}
