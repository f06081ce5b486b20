//! What is due: the fronts of lanes, in SQL.

use formsvc_protocol::FormInstant;
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::instant;
use super::leases;
use crate::store::rules::due_at;
use crate::store::{Due, EndpointNo, Lane, StoreError};

/// The next endpoint with something in its lanes. Not by lane at once: a comparison of two columns
/// begins at the rows that are equal, and would step over all of them.
pub(super) const NEXT_ENDPOINT: &str =
    "SELECT endpoint_no FROM queue WHERE endpoint_no > ?1 ORDER BY endpoint_no LIMIT 1";
/// The front of a lane of the queue.
pub(super) const FRONT: &str =
    "SELECT at_us FROM queue WHERE endpoint_no = ?1 AND lane = ?2 ORDER BY at_us LIMIT 1";

/// The fronts of all lanes of enabled endpoints.
pub(super) fn due(db: &Connection, now: FormInstant) -> Result<Vec<Due>, StoreError> {
    let mut queued = db.prepare_cached(NEXT_ENDPOINT)?;
    let mut leased = db.prepare_cached(leases::NEXT_ENDPOINT)?;
    let mut next = |last: i64| -> rusqlite::Result<Option<i64>> {
        let queued = queued.query_row([last], |row| row.get(0)).optional()?;
        let leased = leased.query_row([last], |row| row.get(0)).optional()?;
        Ok(queued.into_iter().chain(leased).min())
    };
    let mut enabled =
        db.prepare_cached("SELECT 1 FROM endpoints WHERE endpoint_no = ?1 AND status = 'enabled'")?;
    let mut found = Vec::new();
    let mut last = i64::MIN;
    while let Some(number) = next(last)? {
        if enabled.exists([number])? {
            for lane in Lane::ALL {
                found.extend(front(db, EndpointNo(number), lane, now)?);
            }
        }
        last = number;
    }
    Ok(found)
}

/// What is first in a lane.
pub(super) fn front(
    db: &Connection,
    endpoint: EndpointNo,
    lane: Lane,
    now: FormInstant,
) -> Result<Option<Due>, StoreError> {
    let at = match lane {
        Lane::Leased => db
            .prepare_cached(leases::FRONT)?
            .query_row([endpoint.0], |row| row.get(0))
            .optional()?,
        Lane::Fresh | Lane::Late => db
            .prepare_cached(FRONT)?
            .query_row(params![endpoint.0, lane as i64], |row| row.get(0))
            .optional()?,
    };
    Ok(at.map(|at| due_at(endpoint, lane, instant(at), now)))
}
