//! Settling claims: recording outcomes, and giving back what was not attempted, in SQL.

use std::time::Duration;

use formsvc_protocol::FormInstant;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};

use super::columns::instant;
use super::queue::{Entry, insert, remove};
use crate::fault_point::fault_point;
use crate::store::{
    Attempt, DeliveryKey, DeliveryState, EndpointNo, Lane, Lease, Settled, Settlement, StoreError,
    Verdict,
};

/// Where a leased delivery was claimed from.
pub(super) const ORIGIN: &str = "SELECT d.next_us, s.instant_us
    FROM deliveries d JOIN submissions s ON s.key = d.submission
    WHERE d.submission = ?1 AND d.endpoint_no = ?2";

/// Settles claims. Retries are timed by `now`, of the clock that does not step; what people are shown
/// is the wall's time, `today`.
pub(super) fn settle(
    db: &Connection,
    settlements: &[Settlement],
    now: FormInstant,
    today: FormInstant,
) -> Result<Vec<Settled>, StoreError> {
    settlements.iter().map(|settlement| settle_one(db, settlement, now, today)).collect()
}

fn settle_one(
    db: &Connection,
    settlement: &Settlement,
    now: FormInstant,
    today: FormInstant,
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
                today.micros()
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

/// Brings retries that lie further ahead than any pause to now: the clock was ahead when they were
/// timed.
pub(super) fn bring_near(
    db: &Connection,
    now: FormInstant,
    longest: Duration,
) -> Result<(), StoreError> {
    let mut found = db.prepare(
        "SELECT q.lane, q.at_us, q.submission, q.retries, q.claims, q.resend, q.lease, q.endpoint_no
         FROM endpoints e CROSS JOIN queue q
         WHERE q.endpoint_no = e.endpoint_no AND q.lane = 1 AND q.at_us > ?1",
    )?;
    let rows = found
        .query_map([now.plus(longest).micros()], |row| Entry::at(row, EndpointNo(row.get(7)?)))?;
    for far in rows.collect::<Result<Vec<_>, _>>()? {
        remove(db, &far)?;
        db.prepare_cached(
            "UPDATE deliveries SET next_us = ?3 WHERE submission = ?1 AND endpoint_no = ?2",
        )?
        .execute([far.submission, far.endpoint.0, now.micros()])?;
        insert(db, &Entry { at: now, ..far })?;
    }
    Ok(())
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
