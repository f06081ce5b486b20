//! The queue of deliveries: its rows, in SQL.
//!
//! The lane is part of a row's key, so that each lane of each endpoint is one range, and its front one
//! seek. What is claimed is not here, but under its lease.

use formsvc_protocol::FormInstant;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};

use super::columns::instant;
use crate::store::{DeliveryKey, DeliveryState, EndpointNo, Lane, StoreError};

/// The place of a delivery: each lane is asked where it would be.
pub(super) const PLACE: &str = "SELECT lane, at_us, submission, retries, claims, resend FROM queue
    WHERE endpoint_no = ?1 AND lane = 0 AND submission = ?2
        AND at_us = (SELECT instant_us FROM submissions WHERE key = ?2)
    UNION ALL SELECT lane, at_us, submission, retries, claims, resend FROM queue
    WHERE endpoint_no = ?1 AND lane = 1 AND submission = ?2
        AND at_us = (SELECT next_us FROM deliveries WHERE submission = ?2 AND endpoint_no = ?1)";

const INSERT: &str =
    "INSERT INTO queue (endpoint_no, lane, at_us, submission, retries, claims, resend)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";

/// The state of a delivery from its number.
pub(super) fn state_at(row: &Row<'_>, column: usize) -> rusqlite::Result<DeliveryState> {
    let number = row.get(column)?;
    let known = usize::try_from(number).ok().and_then(|number| DeliveryState::ALL.get(number));
    let (state, _) = known.ok_or(rusqlite::Error::IntegralValueOutOfRange(column, number))?;
    Ok(*state)
}

/// A count from a column. One that was changed to something else is brought back among counts: the
/// queue itself has to be readable, whatever is in it.
pub(super) fn count_at(row: &Row<'_>, column: usize) -> rusqlite::Result<u32> {
    let number: i64 = row.get(column)?;
    Ok(u32::try_from(number.max(0)).unwrap_or(u32::MAX))
}

fn lane_of(number: i64) -> Lane {
    let known = usize::try_from(number).ok().and_then(|number| Lane::ALL.get(number));
    *known.expect("the table allows no other number")
}

/// The endpoints that a form's submissions are delivered to.
pub(super) fn enabled_endpoints(
    db: &Connection,
    form_no: i64,
) -> Result<Vec<EndpointNo>, StoreError> {
    let mut endpoints = db.prepare_cached(
        "SELECT endpoint_no FROM endpoints WHERE form_no = ?1 AND status = 'enabled'",
    )?;
    let endpoints = endpoints.query_map([form_no], |row| row.get(0).map(EndpointNo))?;
    Ok(endpoints.collect::<Result<_, _>>()?)
}

/// The statements that make deliveries.
pub(super) struct Delivering<'db> {
    delivery: CachedStatement<'db>,
    entry: CachedStatement<'db>,
}

impl<'db> Delivering<'db> {
    pub(super) fn new(db: &'db Connection) -> Result<Self, StoreError> {
        let delivery = db.prepare_cached(
            "INSERT INTO deliveries (submission, endpoint_no, state, attempts, form_title)
             VALUES (?1, ?2, 0, 0, ?3)",
        )?;
        Ok(Self { delivery, entry: db.prepare_cached(INSERT)? })
    }

    /// Makes a delivery of a submission to an endpoint.
    pub(super) fn deliver(
        &mut self,
        endpoint: EndpointNo,
        submission: i64,
        form_title: &str,
        at: FormInstant,
    ) -> Result<(), StoreError> {
        self.delivery.execute(params![submission, endpoint.0, form_title])?;
        Entry::fresh(endpoint, submission, at).insert(&mut self.entry)
    }
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
}

impl Entry {
    fn fresh(endpoint: EndpointNo, submission: i64, at: FormInstant) -> Self {
        let lane = Lane::Fresh;
        Self { endpoint, lane, at, submission, retries: 0, claims: 0, resend: false }
    }

    fn insert(&self, statement: &mut CachedStatement<'_>) -> Result<(), StoreError> {
        statement.execute(params![
            self.endpoint.0,
            self.lane as i64,
            self.at.micros(),
            self.submission,
            self.retries,
            self.claims,
            self.resend
        ])?;
        Ok(())
    }

    /// Columns `lane, at_us, submission, retries, claims, resend` of an endpoint.
    pub(super) fn at(row: &Row<'_>, endpoint: EndpointNo) -> rusqlite::Result<Self> {
        Ok(Self {
            endpoint,
            lane: lane_of(row.get(0)?),
            at: instant(row.get(1)?),
            submission: row.get(2)?,
            retries: count_at(row, 3)?,
            claims: count_at(row, 4)?,
            resend: row.get(5)?,
        })
    }
}

pub(super) fn insert(db: &Connection, entry: &Entry) -> Result<(), StoreError> {
    entry.insert(&mut db.prepare_cached(INSERT)?)
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

/// The place of a delivery in the queue, if it has one; it has none while it is claimed.
pub(super) fn find(db: &Connection, key: DeliveryKey) -> Result<Option<Entry>, StoreError> {
    let found = db
        .prepare_cached(PLACE)?
        .query_row(params![key.endpoint.0, key.submission], |row| Entry::at(row, key.endpoint))
        .optional()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::deliveries::list_sql;
    use super::*;

    /// Plans need them as digits: a partial index is not used for what is bound.
    #[test]
    fn digits_in_statements_are_those_of_lanes_and_states() {
        for lane in [Lane::Fresh, Lane::Late] {
            assert!(
                PLACE.contains(&format!("AND lane = {} AND", lane as i64)),
                "{lane:?}: {PLACE}"
            );
        }
        let common = [DeliveryState::Pending, DeliveryState::Delivered].map(|state| state as i64);
        let rare = common.map(|state| format!("state <> {state}"));
        let sql = list_sql(None, Some(DeliveryState::Failed));
        let schema = include_str!("migrations/0001_initial.sql");
        assert!(rare.iter().all(|rule| sql.contains(rule) && schema.contains(rule)), "{sql}");
        let queued = format!("CHECK (lane IN ({}, {}))", Lane::Fresh as i64, Lane::Late as i64);
        assert!(schema.contains(&queued), "{queued}");
        let states = format!("CHECK (state BETWEEN 0 AND {})", DeliveryState::ALL.len() - 1);
        assert!(schema.contains(&states), "{states}");
    }
}
