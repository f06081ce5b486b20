//! What is due: the fronts of lanes, in SQL.

use std::time::Duration;

use formsvc_protocol::FormInstant;
use rusqlite::{Connection, OptionalExtension, params};

use super::columns::instant;
use super::queue::lane_of;
use crate::store::{Due, EndpointNo, Lane, StoreError};

/// The first row of the lane after a lane.
pub(super) const NEXT_FRONT: &str = "SELECT endpoint_no, lane, at_us FROM queue
    WHERE (endpoint_no, lane) > (?1, ?2) ORDER BY endpoint_no, lane, at_us LIMIT 1";
/// The front of a lane.
pub(super) const FRONT: &str =
    "SELECT at_us FROM queue WHERE endpoint_no = ?1 AND lane = ?2 ORDER BY at_us LIMIT 1";

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

/// What is first in a lane.
pub(super) fn front(
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
