//! Claims: handing out what is due, in SQL.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{EndpointId, FormId, FormInstant};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::columns::{instant, stored_id, text_id};
use super::due::front;
use super::leases::{self, Held, Leases};
use super::queue::{count_at, state_at};
use super::store::SqliteStore;
use super::unreadable::{Unreadable, fail, is_of_a_row};
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::store::{
    ClaimRequest, Claimed, ClaimedEndpoint, Claims, DeliveryKey, EndpointNo, EndpointsAtOnce, Lane,
    Lease, SealedSecret, StoreError, Want, item,
};

/// What a claim needs of a delivery and its submission, in this order.
macro_rules! submission_columns {
    () => {
        "d.state, d.attempts, d.form_title, s.instant_us, s.id, s.item, d.own_fault_us"
    };
}

/// What is due in a lane, with all that an attempt needs, if that is there. Neighbours in the queue,
/// then two seeks for each.
pub(super) const DUE: &str = concat!(
    "SELECT ",
    submission_columns!(),
    ", q.submission, q.at_us, q.retries, q.claims, q.resend
    FROM queue q
    LEFT JOIN deliveries d ON d.submission = q.submission AND d.endpoint_no = q.endpoint_no
    LEFT JOIN submissions s ON s.key = q.submission
    WHERE q.endpoint_no = ?1 AND q.lane = ?2 AND q.at_us <= ?3
    ORDER BY q.at_us, q.submission LIMIT ?4"
);
/// Takes what is in front of a lane out of the queue, up to a place.
pub(super) const TAKE: &str = "DELETE FROM queue
    WHERE endpoint_no = ?1 AND lane = ?2 AND (at_us, submission) <= (?3, ?4)";
/// A delivery that is claimed, with all that an attempt needs.
pub(super) const CLAIMED: &str = concat!(
    "SELECT ",
    submission_columns!(),
    " FROM deliveries d CROSS JOIN submissions s
    WHERE d.submission = ?1 AND d.endpoint_no = ?2 AND s.key = d.submission"
);

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
        if claims.unreadable.contains(&want.endpoint) {
            continue;
        }
        let endpoint = match claimed_endpoint(db, want.endpoint, with.today) {
            Ok(Some(endpoint)) => endpoint,
            Ok(None) => continue,
            Err(error) if is_of_a_row(&error) => {
                let (endpoint, cause) = (want.endpoint.0, on_one_line(&error));
                tracing::error!(endpoint, cause, "an endpoint cannot be read; its deliveries wait");
                claims.unreadable.push(want.endpoint);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let lease = Lease { token: with.token, until: with.now.plus(request.lease) };
        let mut taking = Taking {
            now: with.now,
            lane: want.lane,
            endpoint: &endpoint,
            lease,
            bytes_left: &mut bytes_left,
            deliveries: &mut claims.deliveries,
            held: Vec::new(),
            unreadable: Vec::new(),
        };
        claim_from(db, *want, &mut taking, with.now)?;
        fault_point!(InClaim);
        let Taking { held, unreadable, .. } = taking;
        if !held.is_empty() {
            leases::hold(db, want.endpoint, lease, held)?;
        }
        for (held, why) in unreadable {
            let key = DeliveryKey { submission: held.submission, endpoint: want.endpoint };
            fail(db, key, with.today, &why)?;
        }
        claims.due.extend(front(db, want.endpoint, want.lane, with.now)?);
    }
    Ok(claims)
}

fn claimed_endpoint(
    db: &Connection,
    number: EndpointNo,
    today: FormInstant,
) -> rusqlite::Result<Option<Arc<ClaimedEndpoint>>> {
    db.prepare_cached(
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
    .optional()
}

/// Claims from a lane. What is due in a lane of the queue is a range of it, and taken out as one.
fn claim_from(
    db: &Connection,
    want: Want,
    taking: &mut Taking<'_>,
    now: FormInstant,
) -> Result<(), StoreError> {
    if want.lane == Lane::Leased {
        return claim_again(db, want, taking, now);
    }
    let until = if want.lane == Lane::Fresh { FormInstant::MAX } else { now };
    let mut found = db.prepare_cached(DUE)?;
    let mut last = None;
    let mut rows =
        found.query(params![want.endpoint.0, want.lane as i64, until.micros(), want.count])?;
    while let Some(row) = rows.next()? {
        let held = Held {
            submission: row.get(7)?,
            retries: count_at(row, 9)?,
            claims: count_at(row, 10)?,
            resend: row.get(11)?,
            attempted: false,
        };
        if !taking.take(row, held) {
            break;
        }
        last = Some((row.get::<_, i64>(8)?, held.submission));
    }
    drop(rows);
    let Some((at, submission)) = last else { return Ok(()) };
    db.prepare_cached(TAKE)?.execute(params![want.endpoint.0, want.lane as i64, at, submission])?;
    Ok(())
}

/// Claims what was claimed before, by somebody whose lease has ended.
fn claim_again(
    db: &Connection,
    want: Want,
    taking: &mut Taking<'_>,
    now: FormInstant,
) -> Result<(), StoreError> {
    let mut ended: Vec<(Lease, Held)> = Vec::new();
    for (lease, held) in leases::of(db, want.endpoint, now)? {
        ended.extend(held.into_iter().map(|held| (lease, held)));
    }
    ended.sort_by_key(|(lease, held)| (lease.until, held.submission));
    let mut found = db.prepare_cached(CLAIMED)?;
    let mut leases = Leases::new(db);
    for (lease, held) in ended.into_iter().take(want.count as usize) {
        let key = DeliveryKey { submission: held.submission, endpoint: want.endpoint };
        let mut rows = found.query([key.submission, key.endpoint.0])?;
        match rows.next()? {
            Some(row) if taking.take(row, held) => {}
            Some(_) => break,
            None => taking.unreadable.push((held, Unreadable::Missing)),
        }
        leases.take(key, lease)?;
    }
    leases.save()
}

/// What a worker gets, as it is put together.
struct Taking<'a> {
    now: FormInstant,
    lane: Lane,
    endpoint: &'a Arc<ClaimedEndpoint>,
    lease: Lease,
    bytes_left: &'a mut usize,
    deliveries: &'a mut Vec<Claimed>,
    /// The same, as it is kept.
    held: Vec<Held>,
    /// What is in its way, and what is wrong with it.
    unreadable: Vec<(Held, Unreadable)>,
}

impl Taking<'_> {
    /// Takes a delivery from a row that begins with the `submission_columns`, or notes that it cannot be
    /// read; `false` when its answers are too many by now.
    fn take(&mut self, row: &Row<'_>, held: Held) -> bool {
        match self.read(row, held) {
            Ok(Some(claimed)) => {
                let (claims, attempted) = (claimed.claims, claimed.attempts > 0);
                self.held.push(Held { claims, attempted, ..held });
                self.deliveries.push(claimed);
            }
            Ok(None) => return false,
            Err(why) => self.unreadable.push((held, why)),
        }
        true
    }

    fn read(&mut self, row: &Row<'_>, held: Held) -> Result<Option<Claimed>, Unreadable> {
        if row.get_ref(0)? == ValueRef::Null || row.get_ref(5)? == ValueRef::Null {
            return Err(Unreadable::Missing);
        }
        let stored = row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?;
        if stored.len() > *self.bytes_left && !self.deliveries.is_empty() {
            return Ok(None);
        }
        let data = item::data_of(stored.as_bytes()).ok_or(Unreadable::NotAnItem)?;
        let own_fault: Option<i64> = row.get(6)?;
        let claimed = Claimed {
            key: DeliveryKey { submission: held.submission, endpoint: self.endpoint.number },
            lease: self.lease,
            endpoint: Arc::clone(self.endpoint),
            submission: stored_id(row, 4)?,
            form_title: row.get(2)?,
            data: Bytes::copy_from_slice(data),
            created_at: instant(row.get(3)?).to_timestamp(),
            state: state_at(row, 0)?,
            attempts: row.get(1)?,
            retries: held.retries,
            resend: held.resend,
            lane: self.lane,
            claims: held.claims.saturating_add(1),
            own_fault_for: own_fault.map_or(Duration::ZERO, |at| self.now.since(instant(at))),
        };
        *self.bytes_left = self.bytes_left.saturating_sub(stored.len());
        Ok(Some(claimed))
    }
}

impl EndpointsAtOnce for SqliteStore {
    fn changes(&self) -> u64 {
        self.endpoint_changes.count()
    }

    fn endpoint(&self, endpoint: EndpointNo) -> Result<Option<Arc<ClaimedEndpoint>>, StoreError> {
        let today = (self.clock)();
        self.readers.read(|db| Ok(claimed_endpoint(db, endpoint, today)?))
    }
}
