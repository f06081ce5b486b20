//! What is due: the fronts of lanes, in SQL.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::rows::{column, instant, query};
use crate::store::rules::due_at;
use crate::store::{Due, EndpointNo, Lane, StoreError};

/// The fronts of all lanes of enabled endpoints: a seek for each endpoint that has work, and one for each
/// of its lanes.
const DUE: &str = "WITH RECURSIVE working (no) AS (
        SELECT min(endpoint_no) FROM queue
        UNION ALL
        SELECT (SELECT min(q.endpoint_no) FROM queue q WHERE q.endpoint_no > working.no)
        FROM working WHERE working.no IS NOT NULL)
    SELECT e.endpoint_no, l.lane, front.at_us, n.us
    FROM working JOIN endpoints e ON e.endpoint_no = working.no AND e.status = 'enabled'
        CROSS JOIN (VALUES (0::smallint), (1::smallint), (2::smallint)) AS l (lane)
        CROSS JOIN LATERAL (SELECT q.at_us FROM queue q WHERE q.endpoint_no = e.endpoint_no
            AND q.lane = l.lane ORDER BY q.at_us LIMIT 1) front
        CROSS JOIN (SELECT now_us($1) AS us) n
    ORDER BY e.endpoint_no, l.lane";
/// The fronts of some lanes.
const FRONTS: &str = "SELECT w.endpoint_no, w.lane, front.at_us, n.us
    FROM unnest($1::bigint[], $2::smallint[]) WITH ORDINALITY AS w (endpoint_no, lane, place)
        CROSS JOIN LATERAL (SELECT q.at_us FROM queue q WHERE q.endpoint_no = w.endpoint_no
            AND q.lane = w.lane ORDER BY q.at_us LIMIT 1) front
        CROSS JOIN (SELECT now_us($3) AS us) n
    ORDER BY w.place";

pub(super) fn lane_of(number: i16) -> Result<Lane, StoreError> {
    let known = usize::try_from(number).ok().and_then(|number| Lane::ALL.get(number));
    known.copied().ok_or_else(|| StoreError::Internal("a lane that is none".into()))
}

fn row_due(row: &Row) -> Result<Due, StoreError> {
    let (endpoint, lane) = (EndpointNo(column(row, 0)?), lane_of(column(row, 1)?)?);
    let (at, now) = (instant(row, 2)?, instant(row, 3)?);
    Ok(due_at(endpoint, lane, at, now))
}

/// The fronts of all lanes of enabled endpoints.
pub(super) async fn due(db: &impl GenericClient, now: Option<i64>) -> Result<Vec<Due>, StoreError> {
    query(db, DUE, &[&now]).await?.iter().map(row_due).collect()
}

/// What is first in some lanes.
pub(super) async fn fronts(
    db: &impl GenericClient,
    lanes: &[(EndpointNo, Lane)],
    now: Option<i64>,
) -> Result<Vec<Due>, StoreError> {
    let (endpoints, lanes): (Vec<_>, Vec<_>) =
        lanes.iter().map(|(endpoint, lane)| (endpoint.0, *lane as i16)).unzip();
    query(db, FRONTS, &[&endpoints, &lanes, &now]).await?.iter().map(row_due).collect()
}
