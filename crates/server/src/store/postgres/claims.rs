//! Claims: handing out what is due, in SQL. Any number of processes claim at the same time; what one of
//! them is about to take the others pass over.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::GenericClient;
use formsvc_protocol::{EndpointId, FormId, SubmissionId};
use tokio_postgres::Row;

use super::due::fronts;
use super::rows::{Params, column, count, execute, instant, query, query_opt, text_id, timestamp};
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::store::{
    ClaimRequest, Claimed, ClaimedEndpoint, Claims, DeliveryKey, DeliveryState, EndpointNo, Lane,
    Lease, SealedSecret, StoreError, Want, item,
};

/// Takes what is in front of a lane, until there are enough of them, or of their bytes. Endpoints that are
/// not enabled have nothing to take.
const CLAIM: &str = "WITH n AS MATERIALIZED (SELECT now_us($7) AS us),
    front AS MATERIALIZED (
        SELECT q.submission, q.at_us FROM queue q
        WHERE q.endpoint_no = $1 AND q.lane = $2 AND ($2 = 0 OR q.at_us <= (SELECT us FROM n))
            AND EXISTS (SELECT 1 FROM endpoints WHERE endpoint_no = $1 AND status = 'enabled')
        ORDER BY q.at_us, q.submission LIMIT $3 FOR UPDATE SKIP LOCKED),
    sized AS (
        SELECT f.submission, f.at_us, row_number() OVER line AS place,
            sum(coalesce(octet_length(s.item), 0)) OVER line AS bytes
        FROM front f LEFT JOIN submissions s ON s.key = f.submission
        WINDOW line AS (ORDER BY f.at_us, f.submission ROWS UNBOUNDED PRECEDING)),
    taken AS (
        UPDATE queue q SET lane = 2, at_us = n.us + $5, token = $6, claims = q.claims + 1
        FROM sized z, n
        WHERE q.endpoint_no = $1 AND q.submission = z.submission
            AND (z.bytes <= $4 OR (z.place = 1 AND $8))
        RETURNING q.submission, q.at_us, q.retries, q.claims, q.resend, z.place)
    SELECT t.submission, t.at_us, t.retries, t.claims, t.resend, d.state, d.attempts, d.form_title,
        s.instant_us, s.id, s.item, (SELECT us FROM n) - d.own_fault_us
    FROM taken t LEFT JOIN deliveries d ON d.submission = t.submission AND d.endpoint_no = $1
        LEFT JOIN submissions s ON s.key = t.submission
    ORDER BY t.place";

/// What claims are made with.
pub(super) struct Claiming {
    pub(super) now: Option<i64>,
    pub(super) token: i64,
}

pub(super) async fn claim(
    db: &impl GenericClient,
    request: &ClaimRequest,
    with: &Claiming,
) -> Result<Claims, StoreError> {
    let mut claims = Claims::default();
    let mut bytes_left = request.bytes_max;
    let mut lanes = Vec::new();
    for want in &request.wants {
        let Some(endpoint) = claimed_endpoint(db, want.endpoint, with.now).await? else { continue };
        lanes.push((want.endpoint, want.lane));
        if want.count == 0 {
            continue;
        }
        let endpoint = Arc::new(endpoint);
        for row in take(db, *want, request, bytes_left, claims.deliveries.is_empty(), with).await? {
            let lease = Lease { token: with.token, until: instant(&row, 1)? };
            match claimed(&row, &endpoint, want.lane, lease) {
                Ok((claimed, bytes)) => {
                    bytes_left = bytes_left.saturating_sub(bytes);
                    claims.deliveries.push(claimed);
                }
                Err(why) => fail(db, column(&row, 0)?, &endpoint, lease, &why, with.now).await?,
            }
        }
        fault_point!(InClaim);
    }
    claims.due = fronts(db, &lanes, with.now).await?;
    Ok(claims)
}

async fn take(
    db: &impl GenericClient,
    want: Want,
    request: &ClaimRequest,
    bytes_left: usize,
    first: bool,
    with: &Claiming,
) -> Result<Vec<Row>, StoreError> {
    let bytes_left = i64::try_from(bytes_left).unwrap_or(i64::MAX);
    let lease = i64::try_from(request.lease.as_micros()).unwrap_or(i64::MAX / 4);
    let params: Params<'_> = &[
        &want.endpoint.0,
        &(want.lane as i16),
        &i64::from(want.count),
        &bytes_left,
        &lease,
        &with.token,
        &with.now,
        &first,
    ];
    query(db, CLAIM, params).await
}

async fn claimed_endpoint(
    db: &impl GenericClient,
    number: EndpointNo,
    now: Option<i64>,
) -> Result<Option<ClaimedEndpoint>, StoreError> {
    let sql = "SELECT e.id, f.id, e.url, e.secret,
            CASE WHEN e.previous_until_us > now_us($2) THEN e.previous_secret END
        FROM endpoints e JOIN forms f USING (form_no)
        WHERE e.endpoint_no = $1 AND e.status = 'enabled'";
    let Some(row) = query_opt(db, sql, &[&number.0, &now]).await? else { return Ok(None) };
    Ok(Some(ClaimedEndpoint {
        number,
        id: text_id(&row, 0, EndpointId::new)?,
        form: text_id(&row, 1, FormId::new)?,
        url: column(&row, 2)?,
        secret: SealedSecret(column(&row, 3)?),
        previous_secret: column::<Option<Vec<u8>>>(&row, 4)?.map(SealedSecret),
    }))
}

/// A delivery, and the bytes of its stored submission.
fn claimed(
    row: &Row,
    endpoint: &Arc<ClaimedEndpoint>,
    lane: Lane,
    lease: Lease,
) -> Result<(Claimed, usize), StoreError> {
    let item: &str = column(row, 10)?;
    let data = item::data_of(item.as_bytes()).ok_or_else(|| {
        StoreError::Internal("a stored submission is not of the form it is stored in".into())
    })?;
    let own_fault_for: Option<i64> = column(row, 11)?;
    let claimed = Claimed {
        key: DeliveryKey { submission: column(row, 0)?, endpoint: endpoint.number },
        lease,
        endpoint: Arc::clone(endpoint),
        submission: text_id(row, 9, SubmissionId::new)?,
        form_title: column(row, 7)?,
        data: Bytes::copy_from_slice(data),
        created_at: timestamp(row, 8)?,
        state: state_of(column(row, 5)?)?,
        attempts: count(row, 6)?,
        retries: count(row, 2)?,
        resend: column(row, 4)?,
        lane,
        claims: count(row, 3)?,
        own_fault_for: Duration::from_micros(
            own_fault_for.unwrap_or_default().max(0).unsigned_abs(),
        ),
    };
    Ok((claimed, item.len()))
}

/// Marks a claimed delivery whose rows cannot be read as failed, so that it ends and holds up no others.
/// One that was finished stays as it was.
async fn fail(
    db: &impl GenericClient,
    submission: i64,
    endpoint: &ClaimedEndpoint,
    lease: Lease,
    why: &StoreError,
    now: Option<i64>,
) -> Result<(), StoreError> {
    let delivery = DeliveryKey { submission, endpoint: endpoint.number }.id();
    let cause = on_one_line(why);
    tracing::error!(%delivery, cause, "delivery is unreadable; marked failed");
    let sql = "WITH gone AS (DELETE FROM queue
            WHERE submission = $1 AND endpoint_no = $2 AND lane = 2 AND token = $3
            RETURNING submission, endpoint_no)
        UPDATE deliveries d SET next_us = NULL, own_fault_us = NULL,
            state = CASE WHEN d.state IN (0, 1) THEN $5 ELSE d.state END,
            finished_us = CASE WHEN d.state IN (0, 1) THEN now_us($4) ELSE d.finished_us END
        FROM gone WHERE d.submission = gone.submission AND d.endpoint_no = gone.endpoint_no";
    let failed = DeliveryState::Failed as i16;
    let params: Params<'_> = &[&submission, &endpoint.number.0, &lease.token, &now, &failed];
    execute(db, sql, params).await?;
    Ok(())
}

/// The state of a delivery from its number.
pub(super) fn state_of(number: i16) -> Result<DeliveryState, StoreError> {
    let known = usize::try_from(number).ok().and_then(|number| DeliveryState::ALL.get(number));
    known
        .map(|(state, _)| *state)
        .ok_or_else(|| StoreError::Internal("a delivery's state is none".into()))
}
