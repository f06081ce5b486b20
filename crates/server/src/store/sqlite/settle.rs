//! Settling claims: recording outcomes, and giving back what was not attempted, in SQL.

use std::slice;
use std::time::Duration;

use formsvc_protocol::FormInstant;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::columns::instant;
use super::leases::{self, Held, Leases};
use super::queue::{Entry, insert, remove, state_at};
use super::unreadable::{Unreadable, fail, is_of_a_row};
use crate::causes::on_one_line;
use crate::fault_point::fault_point;
use crate::store::rules::retry_of;
use crate::store::{
    Attempt, DeliveryKey, DeliveryState, EndpointNo, Lane, Settled, Settlement, StoreError, Verdict,
};

/// Where a leased delivery was claimed from.
pub(super) const ORIGIN: &str = "SELECT d.next_us, s.instant_us
    FROM deliveries d JOIN submissions s ON s.key = d.submission
    WHERE d.submission = ?1 AND d.endpoint_no = ?2";

/// Changes a delivery that was not attempted. `min` of a null is null; a time that is later than now
/// is that of a clock which was ahead.
const CHANGE: &str = "UPDATE deliveries SET state = coalesce(?3, state), next_us = ?4,
        finished_us = iif(?3 IS NULL, finished_us, ?5),
        own_fault_us = min(coalesce(own_fault_us, ?6), ?6)
    WHERE submission = ?1 AND endpoint_no = ?2";
/// Changes a delivery, and makes an attempt its last.
const ATTEMPTED: &str = "UPDATE deliveries SET state = coalesce(?3, state), next_us = ?4,
        finished_us = iif(?3 IS NULL, finished_us, ?5),
        own_fault_us = min(coalesce(own_fault_us, ?6), ?6), attempts = attempts + 1,
        last_started_us = ?7, last_duration_us = ?8, last_status = ?9, last_error = ?10,
        last_detail = ?11, last_address = ?12, last_snippet = ?13, last_resend = ?14
    WHERE submission = ?1 AND endpoint_no = ?2";
/// Puts the last attempt with those before it, so that there is room for another. One that is damaged,
/// or there already, is left out: otherwise its delivery could never be settled.
const KEEP_LAST: &str =
    "INSERT OR IGNORE INTO attempts (submission, endpoint_no, number, started_us, duration_us,
        status, error, detail, address, snippet, resend)
    SELECT submission, endpoint_no, attempts, last_started_us, last_duration_us, last_status,
        last_error, last_detail, last_address, last_snippet, last_resend
    FROM deliveries WHERE submission = ?1 AND endpoint_no = ?2";

/// When claims are settled.
#[derive(Clone, Copy)]
pub(super) struct Settling {
    /// By the clock that does not step, which times retries.
    pub(super) now: FormInstant,
    /// The wall's time, which people are shown.
    pub(super) today: FormInstant,
}

/// Settles claims: together, and each by itself when one of them does not go with what is stored, so
/// that it holds up no other.
pub(super) fn settle(
    db: &Connection,
    settlements: &[Settlement],
    at: Settling,
) -> Result<Vec<Settled>, StoreError> {
    if let Ok(settled) = unless_refused(db, || together(db, settlements, at))? {
        return Ok(settled);
    }
    let alone = settlements.iter().map(|one| {
        match unless_refused(db, || together(db, slice::from_ref(one), at))? {
            Ok(settled) => Ok(settled[0]),
            Err(why) => {
                let (delivery, cause) = (one.key.id(), on_one_line(&why));
                tracing::error!(%delivery, cause, "an outcome does not go with what is stored");
                Ok(Settled::Refused)
            }
        }
    });
    alone.collect()
}

/// Does some work, and undoes it when a row refused it, whose error is the inner one.
fn unless_refused<T>(
    db: &Connection,
    work: impl FnOnce() -> Result<T, StoreError>,
) -> Result<Result<T, StoreError>, StoreError> {
    let run = |sql| db.prepare_cached(sql)?.execute([]).map(drop);
    run("SAVEPOINT settlements")?;
    let done = match work() {
        Ok(done) => Ok(done),
        Err(error) if is_a_refusal(&error) && !db.is_autocommit() => {
            run("ROLLBACK TO settlements")?;
            Err(error)
        }
        // Whoever began the transaction undoes it.
        Err(error) => return Err(error),
    };
    run("RELEASE settlements")?;
    Ok(done)
}

fn is_a_refusal(error: &StoreError) -> bool {
    let StoreError::Internal(source) = error else { return false };
    source.downcast_ref::<rusqlite::Error>().is_some_and(is_of_a_row)
}

fn together(
    db: &Connection,
    settlements: &[Settlement],
    at: Settling,
) -> Result<Vec<Settled>, StoreError> {
    let mut desk = Desk {
        db,
        at,
        leases: Leases::new(db),
        change: db.prepare_cached(CHANGE)?,
        attempted: db.prepare_cached(ATTEMPTED)?,
    };
    let settled = settlements.iter().map(|settlement| desk.settle(settlement));
    let settled = settled.collect::<Result<_, _>>()?;
    desk.leases.save()?;
    Ok(settled)
}

/// What nearly every settlement needs, at hand.
struct Desk<'db> {
    db: &'db Connection,
    at: Settling,
    leases: Leases<'db>,
    change: CachedStatement<'db>,
    attempted: CachedStatement<'db>,
}

impl Desk<'_> {
    fn settle(&mut self, settlement: &Settlement) -> Result<Settled, StoreError> {
        let Settlement { key, lease, verdict, attempt, .. } = settlement;
        let Some(held) = self.leases.take(*key, *lease)? else { return Ok(Settled::Lost) };
        fault_point!(InSettle);
        let (state, next) = match *verdict {
            Verdict::Release => {
                give_back(self.db, *key, held, held.claims.saturating_sub(1), self.at.now)?;
                return Ok(Settled::Kept);
            }
            Verdict::Retry { after, retries } => {
                let resent = held.resend && attempt.is_some();
                let kept = if resent { self.retry_of(*key)? } else { None };
                let at = kept.unwrap_or_else(|| self.at.now.plus(after));
                // Put off without an attempt, it stays what it was.
                let put_off = attempt.is_none();
                let again = Entry {
                    endpoint: key.endpoint,
                    lane: Lane::Late,
                    at,
                    submission: key.submission,
                    retries,
                    claims: 0,
                    resend: held.resend && put_off,
                };
                insert(self.db, &again)?;
                ((!put_off).then_some(DeliveryState::Retrying), Some(at))
            }
            Verdict::Delivered => (Some(DeliveryState::Delivered), None),
            Verdict::Failed => (Some(DeliveryState::Failed), None),
            Verdict::Unchanged => (None, self.stay(*key, held)?),
        };
        let finished = state.filter(|state| !state.is_unfinished()).map(|_| self.at.today);
        let change =
            Change { state, next, finished, own_fault: settlement.own_fault_at(self.at.now) };
        match attempt {
            Some(attempt) => self.record(*key, change, held, attempt)?,
            None => drop(self.change.execute(params![
                key.submission,
                key.endpoint.0,
                change.state.map(|state| state as i64),
                change.next.map(FormInstant::micros),
                change.finished.map(FormInstant::micros),
                change.own_fault.map(FormInstant::micros)
            ])?),
        }
        Ok(Settled::Kept)
    }

    /// When a delivery that was resent between its retries is to be retried.
    fn retry_of(&self, key: DeliveryKey) -> Result<Option<FormInstant>, StoreError> {
        let (state, next) = self.standing(key)?;
        let next = next.filter(|_| state == DeliveryState::Retrying);
        Ok(next.and_then(|next| retry_of(instant(next))))
    }

    /// The state of a delivery, and where it stands among late ones, if it does.
    fn standing(&self, key: DeliveryKey) -> Result<(DeliveryState, Option<i64>), StoreError> {
        let sql =
            "SELECT state, next_us FROM deliveries WHERE submission = ?1 AND endpoint_no = ?2";
        let read = |row: &Row<'_>| Ok((state_at(row, 0)?, row.get(1)?));
        Ok(self.db.prepare_cached(sql)?.query_row([key.submission, key.endpoint.0], read)?)
    }

    /// What is finished stays out of the queue. What is not, though somebody took it for finished,
    /// would be lost there: it goes back to where it was, and its claims go on being counted, so that
    /// it rests after a few. Says when it is due, if that was noted.
    fn stay(&self, key: DeliveryKey, held: Held) -> Result<Option<FormInstant>, StoreError> {
        let (state, next) = self.standing(key)?;
        if !state.is_unfinished() {
            return Ok(None);
        }
        tracing::error!(delivery = %key.id(), "an unfinished delivery was settled as finished; it is kept");
        give_back(self.db, key, held, held.claims, self.at.now)?;
        Ok(next.map(instant))
    }

    /// Changes a delivery, and keeps the attempt that changed it.
    fn record(
        &mut self,
        key: DeliveryKey,
        change: Change,
        held: Held,
        attempt: &Attempt,
    ) -> Result<(), StoreError> {
        if held.attempted {
            self.db.prepare_cached(KEEP_LAST)?.execute([key.submission, key.endpoint.0])?;
        }
        self.attempted.execute(params![
            key.submission,
            key.endpoint.0,
            change.state.map(|state| state as i64),
            change.next.map(FormInstant::micros),
            change.finished.map(FormInstant::micros),
            change.own_fault.map(FormInstant::micros),
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
}

/// What becomes of a delivery.
#[derive(Clone, Copy)]
struct Change {
    /// None: what it was.
    state: Option<DeliveryState>,
    next: Option<FormInstant>,
    finished: Option<FormInstant>,
    own_fault: Option<FormInstant>,
}

/// Brings retries that lie further ahead than any pause to now: the clock was ahead when they were
/// timed.
pub(super) fn bring_near(
    db: &Connection,
    now: FormInstant,
    longest: Duration,
) -> Result<(), StoreError> {
    let mut found = db.prepare(
        "SELECT q.lane, q.at_us, q.submission, q.retries, q.claims, q.resend, q.endpoint_no
         FROM endpoints e CROSS JOIN queue q
         WHERE q.endpoint_no = e.endpoint_no AND q.lane = ?2 AND q.at_us > ?1",
    )?;
    let rows = found.query_map([now.plus(longest).micros(), Lane::Late as i64], |row| {
        Entry::at(row, EndpointNo(row.get(6)?))
    })?;
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
pub(super) fn give_back_all(db: &Connection, now: FormInstant) -> Result<u64, StoreError> {
    let mut given_back = 0;
    for (endpoint, held) in leases::take_all(db)? {
        for held in held {
            give_back(
                db,
                DeliveryKey { submission: held.submission, endpoint },
                held,
                held.claims,
                now,
            )?;
            given_back += 1;
            fault_point!(InRecovery);
        }
    }
    Ok(given_back)
}

/// Puts a delivery where it was claimed from: a place that was kept, or that of its submission.
fn give_back(
    db: &Connection,
    key: DeliveryKey,
    held: Held,
    claims: u32,
    now: FormInstant,
) -> Result<(), StoreError> {
    let origin = db
        .prepare_cached(ORIGIN)?
        .query_row([key.submission, key.endpoint.0], |row| Ok((row.get(0)?, row.get(1)?)));
    let Some((next, at)): Option<(Option<i64>, i64)> = origin.optional()? else {
        return fail(db, key, now, &Unreadable::Missing);
    };
    let (lane, at) = next.map_or((Lane::Fresh, instant(at)), |next| (Lane::Late, instant(next)));
    let Held { submission, retries, resend, .. } = held;
    let endpoint = key.endpoint;
    insert(db, &Entry { endpoint, lane, at, submission, retries, claims, resend })
}
