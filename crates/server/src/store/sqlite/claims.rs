//! Claims: handing out what is due, in SQL.

use std::sync::Arc;

use bytes::Bytes;
use formsvc_protocol::{EndpointId, FormId, FormInstant, SubmissionId};
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::{instant, stored_id, text_id};
use super::due::front;
use super::queue::{Entry, insert, remove, state_of};
use crate::fault_point::fault_point;
use crate::store::{
    ClaimRequest, Claimed, ClaimedEndpoint, Claims, DeliveryKey, EndpointNo, Lane, Lease,
    SealedSecret, StoreError, Want, item,
};

/// What is due in a lane, with all that an attempt needs. Neighbours in the queue, then two seeks
/// for each.
pub(super) const DUE: &str =
    "SELECT q.lane, q.at_us, q.submission, q.retries, q.claims, q.resend, q.lease,
        d.state, d.attempts, d.form_title, s.instant_us, s.id, s.item
    FROM queue q CROSS JOIN deliveries d CROSS JOIN submissions s
    WHERE q.endpoint_no = ?1 AND q.lane = ?2 AND q.at_us <= ?3
        AND d.submission = q.submission AND d.endpoint_no = q.endpoint_no
        AND s.key = q.submission
    ORDER BY q.at_us, q.submission LIMIT ?4";

/// What claims are made with.
pub(super) struct Claiming {
    pub(super) now: FormInstant,
    /// The wall's time, which says whether a previous secret still signs.
    pub(super) today: FormInstant,
    pub(super) token: i64,
}

pub(super) fn claim(
    db: &Connection,
    request: &ClaimRequest,
    with: &Claiming,
) -> Result<Claims, StoreError> {
    let mut claims = Claims::default();
    let mut bytes_left = request.bytes_max;
    for want in &request.wants {
        let Some(endpoint) = claimed_endpoint(db, want.endpoint, with.today)? else { continue };
        let lease = Lease { token: with.token, until: with.now.plus(request.lease) };
        claim_from(db, *want, &endpoint, lease, with.now, &mut bytes_left, &mut claims)?;
        claims.due.extend(front(db, want.endpoint, want.lane, with.now)?);
    }
    Ok(claims)
}

fn claimed_endpoint(
    db: &Connection,
    number: EndpointNo,
    today: FormInstant,
) -> Result<Option<Arc<ClaimedEndpoint>>, StoreError> {
    let found = db
        .prepare_cached(
            "SELECT e.id, f.id, e.url, e.secret,
                CASE WHEN e.previous_until_us > ?2 THEN e.previous_secret END
             FROM endpoints e JOIN forms f USING (form_no)
             WHERE e.endpoint_no = ?1 AND e.status = 'enabled'",
        )?
        .query_row(params![number.0, today.micros()], |row| {
            Ok(Arc::new(ClaimedEndpoint {
                number,
                id: text_id(row, 0, EndpointId::new)?,
                form: text_id(row, 1, FormId::new)?,
                url: row.get(2)?,
                secret: SealedSecret(row.get(3)?),
                previous_secret: row.get::<_, Option<Vec<u8>>>(4)?.map(SealedSecret),
            }))
        })
        .optional()?;
    Ok(found)
}

fn claim_from(
    db: &Connection,
    want: Want,
    endpoint: &Arc<ClaimedEndpoint>,
    lease: Lease,
    now: FormInstant,
    bytes_left: &mut usize,
    claims: &mut Claims,
) -> Result<(), StoreError> {
    let until = if want.lane == Lane::Fresh { FormInstant::MAX } else { now };
    let mut found = db.prepare_cached(DUE)?;
    let mut taken = Vec::new();
    let mut rows =
        found.query(params![want.endpoint.0, want.lane as i64, until.micros(), want.count])?;
    while let Some(row) = rows.next()? {
        let stored = row.get_ref(12)?.as_str().map_err(rusqlite::Error::from)?;
        if stored.len() > *bytes_left && !claims.deliveries.is_empty() {
            break;
        }
        *bytes_left = bytes_left.saturating_sub(stored.len());
        let data = item::data_of(stored.as_bytes()).ok_or_else(not_an_item)?;
        let entry = Entry::at(row, want.endpoint)?;
        let submission: SubmissionId = stored_id(row, 11)?;
        claims.deliveries.push(Claimed {
            key: DeliveryKey { submission: entry.submission, endpoint: want.endpoint },
            lease,
            endpoint: Arc::clone(endpoint),
            submission,
            form_title: row.get(9)?,
            data: Bytes::copy_from_slice(data),
            created_at: instant(row.get(10)?).to_timestamp(),
            state: state_of(row.get(7)?),
            attempts: row.get(8)?,
            retries: entry.retries,
            resend: entry.resend,
            claims: entry.claims + 1,
            lane: entry.lane,
        });
        taken.push(entry);
    }
    drop(rows);
    for entry in taken {
        remove(db, &entry)?;
        fault_point!(InClaim);
        let claims = entry.claims + 1;
        let (at, lease) = (lease.until, Some(lease.token));
        insert(db, &Entry { lane: Lane::Leased, at, claims, lease, ..entry })?;
    }
    Ok(())
}

fn not_an_item() -> StoreError {
    StoreError::Internal("a stored submission is not of the form it is stored in".into())
}
