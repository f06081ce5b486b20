//! The queue of deliveries: making, claiming and settling them, in SQL.
//!
//! A claim moves rows between lanes by deleting and inserting them: the lane is part of the key, so
//! that each lane of each endpoint is one range, and its front one seek.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{EndpointId, FormId, FormInstant, SubmissionId};
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::columns::{instant, stored_id, text_id};
use crate::fault_point::fault_point;
use crate::store::{
    Attempt, ClaimRequest, Claimed, ClaimedEndpoint, Claims, DeliveryKey, DeliveryState, Due,
    EndpointNo, Lane, Lease, SealedSecret, Settled, Settlement, StoreError, Verdict, Want, item,
};

/// The first row of the lane after a lane.
pub(super) const NEXT_FRONT: &str = "SELECT endpoint_no, lane, at_us FROM queue
    WHERE (endpoint_no, lane) > (?1, ?2) ORDER BY endpoint_no, lane, at_us LIMIT 1";
/// The front of a lane.
pub(super) const FRONT: &str =
    "SELECT at_us FROM queue WHERE endpoint_no = ?1 AND lane = ?2 ORDER BY at_us LIMIT 1";
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
/// The place of a delivery. Each lane is asked where it would be, except that of leased ones, which
/// is short and searched.
pub(super) const PLACE: &str =
    "SELECT lane, at_us, submission, retries, claims, resend, lease FROM queue
    WHERE endpoint_no = ?1 AND lane = 0 AND submission = ?2
        AND at_us = (SELECT instant_us FROM submissions WHERE key = ?2)
    UNION ALL SELECT lane, at_us, submission, retries, claims, resend, lease FROM queue
    WHERE endpoint_no = ?1 AND lane = 1 AND submission = ?2
        AND at_us = (SELECT next_us FROM deliveries WHERE submission = ?2 AND endpoint_no = ?1)
    UNION ALL SELECT lane, at_us, submission, retries, claims, resend, lease FROM queue
    WHERE endpoint_no = ?1 AND lane = 2 AND submission = ?2";
/// Where a leased delivery was claimed from.
pub(super) const ORIGIN: &str = "SELECT d.next_us, s.instant_us
    FROM deliveries d JOIN submissions s ON s.key = d.submission
    WHERE d.submission = ?1 AND d.endpoint_no = ?2";

/// The state of a delivery from its number.
pub(super) fn state_of(number: i64) -> DeliveryState {
    let known = usize::try_from(number).ok().and_then(|number| DeliveryState::ALL.get(number));
    known.expect("the table allows no other number").0
}

fn lane_of(number: i64) -> Lane {
    let known = usize::try_from(number).ok().and_then(|number| Lane::ALL.get(number));
    *known.expect("the table allows no other number")
}

/// Makes a delivery of a submission for each enabled endpoint of its form, and says which those are.
pub(super) fn deliver(
    db: &Connection,
    form_no: i64,
    submission: i64,
    at: FormInstant,
) -> Result<Vec<EndpointNo>, StoreError> {
    let mut endpoints = db.prepare_cached(
        "SELECT endpoint_no FROM endpoints WHERE form_no = ?1 AND status = 'enabled'",
    )?;
    let endpoints: Vec<EndpointNo> = endpoints
        .query_map([form_no], |row| row.get(0).map(EndpointNo))?
        .collect::<Result<_, _>>()?;
    fault_point!(InSubmit);
    for endpoint in &endpoints {
        db.prepare_cached(
            "INSERT INTO deliveries (submission, endpoint_no, state, attempts, form_title)
             SELECT ?1, ?2, 0, 0, title FROM forms WHERE form_no = ?3",
        )?
        .execute(params![submission, endpoint.0, form_no])?;
        insert(db, &Entry::fresh(*endpoint, submission, at))?;
    }
    Ok(endpoints)
}

/// A row of the queue.
pub(super) struct Entry {
    pub(super) endpoint: EndpointNo,
    pub(super) lane: Lane,
    pub(super) at: FormInstant,
    pub(super) submission: i64,
    pub(super) retries: u32,
    pub(super) claims: u32,
    pub(super) resend: bool,
    pub(super) lease: Option<i64>,
}

impl Entry {
    fn fresh(endpoint: EndpointNo, submission: i64, at: FormInstant) -> Self {
        let (lane, lease) = (Lane::Fresh, None);
        Self { endpoint, lane, at, submission, retries: 0, claims: 0, resend: false, lease }
    }

    /// Columns `lane, at_us, submission, retries, claims, resend, lease` of an endpoint.
    fn at(row: &Row<'_>, endpoint: EndpointNo) -> rusqlite::Result<Self> {
        Ok(Self {
            endpoint,
            lane: lane_of(row.get(0)?),
            at: instant(row.get(1)?),
            submission: row.get(2)?,
            retries: row.get(3)?,
            claims: row.get(4)?,
            resend: row.get(5)?,
            lease: row.get(6)?,
        })
    }
}

pub(super) fn insert(db: &Connection, entry: &Entry) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO queue (endpoint_no, lane, at_us, submission, retries, claims, resend, lease)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        entry.endpoint.0,
        entry.lane as i64,
        entry.at.micros(),
        entry.submission,
        entry.retries,
        entry.claims,
        entry.resend,
        entry.lease
    ])?;
    Ok(())
}

/// Takes a row out of the queue; `false` when it was not there.
pub(super) fn remove(db: &Connection, entry: &Entry) -> Result<bool, StoreError> {
    let removed = db
        .prepare_cached(
            "DELETE FROM queue WHERE endpoint_no = ?1 AND lane = ?2 AND at_us = ?3
                AND submission = ?4",
        )?
        .execute(params![
            entry.endpoint.0,
            entry.lane as i64,
            entry.at.micros(),
            entry.submission
        ])?;
    Ok(removed == 1)
}

/// The place of a delivery in the queue, if it has one.
pub(super) fn find(db: &Connection, key: DeliveryKey) -> Result<Option<Entry>, StoreError> {
    let found = db
        .prepare_cached(PLACE)?
        .query_row(params![key.endpoint.0, key.submission], |row| Entry::at(row, key.endpoint))
        .optional()?;
    Ok(found)
}

/// Puts every leased delivery back where it was claimed from: those who hold them are gone.
pub(super) fn give_back_all(db: &Connection) -> Result<u64, StoreError> {
    let mut numbers = db.prepare("SELECT endpoint_no FROM endpoints")?;
    let numbers = numbers.query_map([], |row| row.get(0).map(EndpointNo))?;
    let mut found = db.prepare(
        "SELECT lane, at_us, submission, retries, claims, resend, lease FROM queue
         WHERE endpoint_no = ?1 AND lane = 2",
    )?;
    let mut given_back = 0;
    for number in numbers {
        let endpoint = number?;
        let rows = found.query_map([endpoint.0], |row| Entry::at(row, endpoint))?;
        for leased in rows.collect::<Result<Vec<_>, _>>()? {
            remove(db, &leased)?;
            let (lane, at) = origin(db, &leased)?;
            insert(db, &Entry { lane, at, lease: None, ..leased })?;
            given_back += 1;
            fault_point!(InRecovery);
        }
    }
    Ok(given_back)
}

/// Where a leased delivery was claimed from: a place that was kept, or that of its submission.
fn origin(db: &Connection, leased: &Entry) -> Result<(Lane, FormInstant), StoreError> {
    let (next, at): (Option<i64>, i64) = db
        .prepare_cached(ORIGIN)?
        .query_row(params![leased.submission, leased.endpoint.0], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok(next.map_or((Lane::Fresh, instant(at)), |next| (Lane::Late, instant(next))))
}

fn due_at(endpoint: EndpointNo, lane: Lane, at: FormInstant, now: FormInstant) -> Due {
    // What was never attempted waits for nothing, whatever the clocks say.
    let after = if lane == Lane::Fresh { Duration::ZERO } else { at.since(now) };
    Due { endpoint, lane, after, overdue: now.since(at) }
}

pub(super) fn due(db: &Connection, now: FormInstant) -> Result<Vec<Due>, StoreError> {
    let mut next = db.prepare_cached(NEXT_FRONT)?;
    let mut enabled =
        db.prepare_cached("SELECT 1 FROM endpoints WHERE endpoint_no = ?1 AND status = 'enabled'")?;
    let mut found = Vec::new();
    let (mut endpoint, mut lane) = (i64::MIN, 0);
    loop {
        let front =
            next.query_row([endpoint, lane], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let Some((number, in_lane, at)) = front.optional()? else { return Ok(found) };
        if number == endpoint || enabled.exists([number])? {
            let at = instant(at);
            found.push(due_at(EndpointNo(number), lane_of(in_lane), at, now));
            (endpoint, lane) = (number, in_lane);
        } else {
            // Nothing of it counts: go on behind its last lane.
            (endpoint, lane) = (number, Lane::Leased as i64);
        }
    }
}

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

fn front(
    db: &Connection,
    endpoint: EndpointNo,
    lane: Lane,
    now: FormInstant,
) -> Result<Option<Due>, StoreError> {
    let at = db
        .prepare_cached(FRONT)?
        .query_row(params![endpoint.0, lane as i64], |row| row.get(0))
        .optional()?;
    Ok(at.map(|at| due_at(endpoint, lane, instant(at), now)))
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

pub(super) fn settle(
    db: &Connection,
    settlements: &[Settlement],
    now: FormInstant,
) -> Result<Vec<Settled>, StoreError> {
    settlements.iter().map(|settlement| settle_one(db, settlement, now)).collect()
}

fn settle_one(
    db: &Connection,
    settlement: &Settlement,
    now: FormInstant,
) -> Result<Settled, StoreError> {
    let Settlement { key, lease, verdict, attempt } = settlement;
    let Some(leased) = take_leased(db, *key, *lease)? else { return Ok(Settled::Lost) };
    fault_point!(InSettle);
    let (state, next) = match *verdict {
        Verdict::Release => {
            let (lane, at) = origin(db, &leased)?;
            let claims = leased.claims.saturating_sub(1);
            insert(db, &Entry { lane, at, claims, lease: None, ..leased })?;
            return Ok(Settled::Kept);
        }
        Verdict::Retry { after, retries } => {
            let at = now.plus(after);
            // Put off without an attempt, it stays what it was.
            let put_off = attempt.is_none();
            let again = Entry {
                lane: Lane::Late,
                at,
                retries,
                claims: 0,
                resend: leased.resend && put_off,
                lease: None,
                ..leased
            };
            insert(db, &again)?;
            ((!put_off).then_some(DeliveryState::Retrying), Some(at))
        }
        Verdict::Delivered => (Some(DeliveryState::Delivered), None),
        Verdict::Failed => (Some(DeliveryState::Failed), None),
        Verdict::Unchanged => (None, None),
    };
    let made = u32::from(attempt.is_some());
    let number: i64 = db
        .prepare_cached(
            "UPDATE deliveries SET state = coalesce(?3, state), attempts = attempts + ?4, next_us = ?5,
                finished_us = CASE WHEN ?3 IN (2, 3) THEN ?6 WHEN ?3 IS NULL THEN finished_us END
             WHERE submission = ?1 AND endpoint_no = ?2 RETURNING attempts",
        )?
        .query_row(
            params![
                key.submission,
                key.endpoint.0,
                state.map(|state| state as i64),
                made,
                next.map(FormInstant::micros),
                now.micros()
            ],
            |row| row.get(0),
        )?;
    if let Some(attempt) = attempt {
        record(db, *key, number, attempt)?;
    }
    Ok(Settled::Kept)
}

/// Takes a leased delivery out of the queue; none when this lease no longer holds.
fn take_leased(
    db: &Connection,
    key: DeliveryKey,
    lease: Lease,
) -> Result<Option<Entry>, StoreError> {
    let mut take: CachedStatement<'_> = db.prepare_cached(
        "DELETE FROM queue WHERE endpoint_no = ?1 AND lane = 2 AND at_us = ?2 AND submission = ?3
            AND lease = ?4 RETURNING lane, at_us, submission, retries, claims, resend, lease",
    )?;
    let taken = take
        .query_row(
            params![key.endpoint.0, lease.until.micros(), key.submission, lease.token],
            |row| Entry::at(row, key.endpoint),
        )
        .optional()?;
    Ok(taken)
}

fn record(
    db: &Connection,
    key: DeliveryKey,
    number: i64,
    attempt: &Attempt,
) -> Result<(), StoreError> {
    db.prepare_cached(
        "INSERT INTO attempts (submission, endpoint_no, number, started_us, duration_us, status,
            error, detail, address, snippet, resend)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        key.submission,
        key.endpoint.0,
        number,
        attempt.started_at.micros(),
        i64::try_from(attempt.duration.as_micros()).unwrap_or(i64::MAX),
        attempt.status,
        attempt.error,
        attempt.detail,
        attempt.address,
        &attempt.snippet[..],
        attempt.resend
    ])?;
    Ok(())
}
