//! Settling claims: recording outcomes, and giving back what was not attempted, in SQL.

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use formsvc_protocol::FormInstant;
use futures_util::future::try_join4;

use super::claims::state_of;
use super::rows::{Params, column, count, instant, instant_opt, prepare, query};
use crate::fault_point::fault_point;
use crate::store::rules::retry_of;
use crate::store::{
    Attempt, DeliveryKey, DeliveryState, EndpointNo, Lane, Lease, Settled, Settlement, StoreError,
    Verdict,
};

/// The claims that are still held, locked in one order until the commit.
const HELD: &str =
    "SELECT q.endpoint_no, q.submission, q.token, q.at_us, q.retries, q.claims, q.resend,
        d.next_us, d.attempts, s.instant_us, now_us($5), d.state
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
            AS c (endpoint_no, submission, token, until_us)
        JOIN queue q ON q.endpoint_no = c.endpoint_no AND q.submission = c.submission
        JOIN deliveries d ON d.endpoint_no = q.endpoint_no AND d.submission = q.submission
        JOIN submissions s ON s.key = q.submission
    WHERE q.lane = 2 AND q.token = c.token AND q.at_us = c.until_us
    ORDER BY q.endpoint_no, q.submission FOR UPDATE OF q";
const REMOVE: &str = "DELETE FROM queue q USING unnest($1::bigint[], $2::bigint[])
        AS n (endpoint_no, submission)
    WHERE q.endpoint_no = n.endpoint_no AND q.submission = n.submission";
const PLACE: &str = "UPDATE queue q SET lane = n.lane, at_us = n.at_us, retries = n.retries,
        claims = n.claims, resend = n.resend, token = NULL
    FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::integer[],
        $6::integer[], $7::boolean[])
        AS n (endpoint_no, submission, lane, at_us, retries, claims, resend)
    WHERE q.endpoint_no = n.endpoint_no AND q.submission = n.submission";
/// `least` leaves out nulls; a time that is later than now is that of a clock which was ahead.
const CHANGE: &str = "UPDATE deliveries d SET state = coalesce(n.state, d.state),
        next_us = n.next_us, finished_us = coalesce(n.finished_us, d.finished_us),
        attempts = d.attempts + n.attempted,
        own_fault_us = CASE WHEN n.own_fault_us IS NOT NULL
            THEN least(d.own_fault_us, n.own_fault_us) END
    FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[],
        $6::integer[], $7::bigint[])
        AS n (endpoint_no, submission, state, next_us, finished_us, attempted, own_fault_us)
    WHERE d.endpoint_no = n.endpoint_no AND d.submission = n.submission";
/// An attempt of the same number that is there already, by a change by hand, is left as it is.
const RECORD: &str =
    "INSERT INTO attempts (endpoint_no, submission, number, started_us, duration_us,
        status, error, detail, address, snippet, resend)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::bigint[], $5::bigint[],
        $6::integer[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::boolean[])
    ON CONFLICT DO NOTHING";

/// Which claim: a delivery, and the lease it is under.
type Claim = (DeliveryKey, Lease);

/// A claim that is still held.
struct Held {
    retries: u32,
    claims: u32,
    resend: bool,
    /// Its place in the lane of late ones, if it was claimed there.
    next: Option<FormInstant>,
    attempts: u32,
    /// When its submission was made.
    made: FormInstant,
    now: FormInstant,
    state: DeliveryState,
}

/// Settles claims in one transaction; the answers are in the order of the settlements.
pub(super) async fn settle(
    db: &impl GenericClient,
    settlements: &[Settlement],
    now: Option<i64>,
) -> Result<Vec<Settled>, StoreError> {
    let mut held = held(db, settlements, now).await?;
    let mut writes = Writes::default();
    let settled = settlements
        .iter()
        .map(|settlement| {
            // Of two for one claim the first counts.
            let found = held.remove(&(settlement.key, settlement.lease));
            let Some(held) = found else { return Settled::Lost };
            writes.add(settlement, &held);
            Settled::Kept
        })
        .collect();
    fault_point!(InSettle);
    writes.write(db).await?;
    Ok(settled)
}

async fn held(
    db: &impl GenericClient,
    settlements: &[Settlement],
    now: Option<i64>,
) -> Result<HashMap<Claim, Held>, StoreError> {
    let mut claims = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Settlement { key, lease, .. } in settlements {
        claims.0.push(key.endpoint.0);
        claims.1.push(key.submission);
        claims.2.push(lease.token);
        claims.3.push(lease.until.micros());
    }
    let params: Params<'_> = &[&claims.0, &claims.1, &claims.2, &claims.3, &now];
    let mut held = HashMap::new();
    for row in query(db, HELD, params).await? {
        let (endpoint, submission) = (EndpointNo(column(&row, 0)?), column(&row, 1)?);
        let lease = Lease { token: column(&row, 2)?, until: instant(&row, 3)? };
        let found = Held {
            retries: count(&row, 4)?,
            claims: count(&row, 5)?,
            resend: column(&row, 6)?,
            next: instant_opt(&row, 7)?,
            attempts: count(&row, 8)?,
            made: instant(&row, 9)?,
            now: instant(&row, 10)?,
            state: state_of(column(&row, 11)?)?,
        };
        held.insert((DeliveryKey { submission, endpoint }, lease), found);
    }
    Ok(held)
}

/// Where a delivery goes in the queue.
struct Place {
    lane: Lane,
    at: FormInstant,
    retries: u32,
    claims: u32,
    resend: bool,
}

/// What becomes of a delivery.
struct Change {
    /// None: what it was.
    state: Option<DeliveryState>,
    next: Option<FormInstant>,
    finished: Option<FormInstant>,
    attempted: bool,
    own_fault: Option<FormInstant>,
}

/// What is to be written, by the columns of the statements that write it.
#[derive(Default)]
struct Writes {
    removed: Vec<DeliveryKey>,
    placed: Vec<(DeliveryKey, Place)>,
    changed: Vec<(DeliveryKey, Change)>,
    recorded: Vec<(DeliveryKey, u32, Attempt)>,
}

impl Writes {
    fn add(&mut self, settlement: &Settlement, held: &Held) {
        let Settlement { key, verdict, attempt, .. } = settlement;
        let (key, attempted) = (*key, attempt.is_some());
        let own_fault = settlement.own_fault_at(held.now);
        let change = match *verdict {
            Verdict::Release => {
                self.placed.push((key, held.origin(held.claims.saturating_sub(1))));
                return;
            }
            Verdict::Retry { after, retries } => {
                let is_between = attempted && held.resend && held.state == DeliveryState::Retrying;
                let kept = held.next.filter(|_| is_between).and_then(retry_of);
                let at = kept.unwrap_or_else(|| held.now.plus(after));
                // Put off without an attempt, it stays what it was.
                let (lane, claims, resend) = (Lane::Late, 0, held.resend && !attempted);
                self.placed.push((key, Place { lane, at, retries, claims, resend }));
                let state = attempted.then_some(DeliveryState::Retrying);
                Change { state, next: Some(at), finished: None, attempted, own_fault }
            }
            // What is finished stays out of the queue. What is not, though somebody took it for finished,
            // would be lost there: it goes back to where it was, and its claims go on being counted, so
            // that it rests after a few.
            Verdict::Unchanged if held.state.is_unfinished() => {
                tracing::error!(delivery = %key.id(), "an unfinished delivery was settled as finished; it is kept");
                self.placed.push((key, held.origin(held.claims)));
                Change { state: None, next: held.next, finished: None, attempted, own_fault }
            }
            Verdict::Delivered | Verdict::Failed | Verdict::Unchanged => {
                self.removed.push(key);
                let state = match verdict {
                    Verdict::Delivered => Some(DeliveryState::Delivered),
                    Verdict::Failed => Some(DeliveryState::Failed),
                    _ => None,
                };
                let finished = state.map(|_| held.now);
                Change { state, next: None, finished, attempted, own_fault }
            }
        };
        self.changed.push((key, change));
        if let Some(attempt) = attempt {
            self.recorded.push((key, held.attempts + 1, attempt.clone()));
        }
    }

    /// Writes all of it in one round trip.
    async fn write(&self, db: &impl GenericClient) -> Result<(), StoreError> {
        let [remove, place, change, record] = prepare(db, [REMOVE, PLACE, CHANGE, RECORD]).await?;
        let removed = of_keys(self.removed.iter());
        let placed = of_keys(self.placed.iter().map(|(key, _)| key));
        let changed = of_keys(self.changed.iter().map(|(key, _)| key));
        let recorded = of_keys(self.recorded.iter().map(|(key, ..)| key));
        let where_to = Places::of(&self.placed);
        let what = Changes::of(&self.changed);
        let attempts = Attempts::of(&self.recorded);
        let removed: Params<'_> = &[&removed.0, &removed.1];
        let placed: Params<'_> = &[
            &placed.0,
            &placed.1,
            &where_to.lanes,
            &where_to.at,
            &where_to.retries,
            &where_to.claims,
            &where_to.resends,
        ];
        let changed: Params<'_> = &[
            &changed.0,
            &changed.1,
            &what.states,
            &what.next,
            &what.finished,
            &what.attempted,
            &what.own_faults,
        ];
        let recorded: Params<'_> = &[
            &recorded.0,
            &recorded.1,
            &attempts.numbers,
            &attempts.started,
            &attempts.durations,
            &attempts.statuses,
            &attempts.errors,
            &attempts.details,
            &attempts.addresses,
            &attempts.snippets,
            &attempts.resends,
        ];
        try_join4(
            db.execute(&remove, removed),
            db.execute(&place, placed),
            db.execute(&change, changed),
            db.execute(&record, recorded),
        )
        .await?;
        Ok(())
    }
}

impl Held {
    /// Where it was claimed from: a place that was kept, or that of its submission.
    fn origin(&self, claims: u32) -> Place {
        let Self { retries, resend, .. } = *self;
        let (lane, at) = self.next.map_or((Lane::Fresh, self.made), |next| (Lane::Late, next));
        Place { lane, at, retries, claims, resend }
    }
}

fn of_keys<'a>(keys: impl Iterator<Item = &'a DeliveryKey>) -> (Vec<i64>, Vec<i64>) {
    keys.map(|key| (key.endpoint.0, key.submission)).unzip()
}

/// A count as its column has it.
fn number(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[derive(Default)]
struct Places {
    lanes: Vec<i16>,
    at: Vec<i64>,
    retries: Vec<i32>,
    claims: Vec<i32>,
    resends: Vec<bool>,
}

impl Places {
    fn of(placed: &[(DeliveryKey, Place)]) -> Self {
        let mut columns = Self::default();
        for (_, Place { lane, at, retries, claims, resend }) in placed {
            columns.lanes.push(*lane as i16);
            columns.at.push(at.micros());
            columns.retries.push(number(*retries));
            columns.claims.push(number(*claims));
            columns.resends.push(*resend);
        }
        columns
    }
}

#[derive(Default)]
struct Changes {
    states: Vec<Option<i16>>,
    next: Vec<Option<i64>>,
    finished: Vec<Option<i64>>,
    attempted: Vec<i32>,
    own_faults: Vec<Option<i64>>,
}

impl Changes {
    fn of(changed: &[(DeliveryKey, Change)]) -> Self {
        let mut columns = Self::default();
        for (_, Change { state, next, finished, attempted, own_fault }) in changed {
            columns.states.push(state.map(|state| state as i16));
            columns.next.push(next.map(FormInstant::micros));
            columns.finished.push(finished.map(FormInstant::micros));
            columns.attempted.push(i32::from(*attempted));
            columns.own_faults.push(own_fault.map(FormInstant::micros));
        }
        columns
    }
}

#[derive(Default)]
struct Attempts<'a> {
    numbers: Vec<i32>,
    started: Vec<i64>,
    durations: Vec<i64>,
    statuses: Vec<Option<i32>>,
    errors: Vec<Option<&'a str>>,
    details: Vec<Option<String>>,
    addresses: Vec<Option<&'a str>>,
    snippets: Vec<&'a [u8]>,
    resends: Vec<bool>,
}

impl<'a> Attempts<'a> {
    fn of(recorded: &'a [(DeliveryKey, u32, Attempt)]) -> Self {
        let mut columns = Self::default();
        for (_, place, attempt) in recorded {
            columns.numbers.push(number(*place));
            columns.started.push(attempt.started_at.micros());
            let micros = i64::try_from(attempt.duration.as_micros()).unwrap_or(i64::MAX);
            columns.durations.push(micros);
            columns.statuses.push(attempt.status.map(i32::from));
            columns.errors.push(attempt.error.as_deref());
            columns.details.push(attempt.detail.as_deref().map(without_nul));
            columns.addresses.push(attempt.address.as_deref());
            columns.snippets.push(&attempt.snippet);
            columns.resends.push(attempt.resend);
        }
        columns
    }
}

/// The one character that a text column cannot have.
fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}
