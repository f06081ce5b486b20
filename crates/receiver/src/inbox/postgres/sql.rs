//! The statements, by the names of the tables.
//!
//! Times are the database's: `clock_timestamp()`, since a statement that waited for a lock goes on later than
//! it began. Lengths of time are parameters in milliseconds.

use super::names::Names;

/// The statements of an inbox.
#[derive(Debug)]
pub(super) struct Sql {
    pub(super) claim: String,
    pub(super) extend: String,
    pub(super) extend_queued: String,
    pub(super) complete: String,
    pub(super) complete_queued: String,
    pub(super) release: String,
    pub(super) release_queued: String,
    pub(super) accept: String,
    pub(super) next: String,
    pub(super) mark: String,
    pub(super) mark_begins: String,
    pub(super) prune: String,
}

/// Has the commit of this statement wait for the disk, where the caller's settings would not: what is
/// answered with 2xx must be there after a crash, and a fencing number that somebody has must not be given
/// to another.
const DURABLY: &str = "durably AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off')";
/// Has it run.
const IS_DURABLE: &str = "(SELECT count(*) FROM durably) >= 0";
/// A row that anybody may take: released, or neither queued nor within its time. The number is compared so
/// that numbers grow: whoever waited for the row has one that may be old by now.
const IS_FREE: &str = "held.fence < excluded.fence
    AND (held.state = 3 OR (held.state <> 1 AND held.until <= clock_timestamp()))";

impl Sql {
    pub(super) fn new(names: &Names) -> Self {
        let [keys, queue, fence] = ["", "_queue", "_fence"].map(|rest| names.of(rest));
        Self {
            claim: format!("WITH {DURABLY}, {}", take(&keys, &fence, 0, IS_DURABLE)),
            // In a transaction of the caller's, whose commit waits for the disk too.
            mark: format!("WITH {DURABLY}, {}", take(&keys, &fence, 2, IS_DURABLE)),
            mark_begins: format!(
                "SELECT pg_try_advisory_xact_lock(
                     hashtextextended($1 || encode($2, 'hex'), hashtext('{keys}')))"
            ),
            extend: format!(
                "UPDATE {keys} SET until = {in_4} WHERE scope = $1 AND key = $2 AND fence = $3
                     AND state = 0 RETURNING 1",
                in_4 = after("$4")
            ),
            extend_queued: format!(
                "UPDATE {queue} SET due = {in_3} WHERE place = $1 AND fence = $2 RETURNING 1",
                in_3 = after("$3")
            ),
            complete: format!(
                "WITH {DURABLY}
                 UPDATE {keys} SET state = 2, until = {in_4}
                 WHERE scope = $1 AND key = $2 AND fence = $3 AND state IN (0, 2) AND {IS_DURABLE}
                 RETURNING 1",
                in_4 = after("$4")
            ),
            // Handled already by the same claim: asked again.
            complete_queued: format!(
                "WITH {DURABLY}, gone AS (
                     DELETE FROM {queue} WHERE place = $5 AND fence = $3 AND {IS_DURABLE} RETURNING 1)
                 UPDATE {keys} SET state = 2, fence = $3, until = {in_4}
                 WHERE scope = $1 AND key = $2
                     AND (EXISTS (SELECT 1 FROM gone) OR (state = 2 AND fence = $3))
                 RETURNING 1",
                in_4 = after("$4")
            ),
            release: format!(
                "UPDATE {keys} SET state = 3, until = clock_timestamp()
                 WHERE scope = $1 AND key = $2 AND fence = $3 AND state = 0 RETURNING 1"
            ),
            release_queued: format!(
                "UPDATE {queue} SET due = {in_3}, fence = nextval('{fence}'),
                     attempts = greatest(attempts - $4, 0)
                 WHERE place = $1 AND fence = $2 RETURNING 1",
                in_3 = after("$3")
            ),
            accept: accept(&keys, &queue, &fence),
            next: format!(
                "WITH {DURABLY}, next AS (
                     SELECT place FROM {queue}
                     WHERE scope = $1 AND due <= statement_timestamp() AND {IS_DURABLE}
                     ORDER BY due, place LIMIT 1 FOR UPDATE SKIP LOCKED)
                 UPDATE {queue} q
                 SET due = {in_2}, fence = nextval('{fence}'), attempts = attempts + 1
                 FROM next WHERE q.place = next.place
                 RETURNING q.place, q.key, q.fence, q.attempts, q.payload",
                in_2 = after("$2")
            ),
            // A claim whose lease has ended is kept for a handler that may come late.
            prune: format!(
                "DELETE FROM {keys} k USING (
                     SELECT scope, key FROM {keys}
                     WHERE state <> 1 AND until <= statement_timestamp()
                         AND (state = 2 OR until <= statement_timestamp() - interval '1 day')
                     ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED) ended
                 WHERE k.scope = ended.scope AND k.key = ended.key RETURNING 1"
            ),
        }
    }
}

/// So many milliseconds from now.
fn after(millis: &str) -> String {
    format!("clock_timestamp() + {millis}::bigint * interval '1 millisecond'")
}

/// What stands in the way of a row that was not taken: its state, and the milliseconds until it ends, none
/// of what is queued. No row when one came while the statement ran.
fn in_the_way(keys: &str) -> String {
    format!(
        "SELECT NULL::bigint, state, CASE WHEN state <> 1 THEN
             ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint END
         FROM {keys} WHERE scope = $1 AND key = $2 AND NOT EXISTS (SELECT 1 FROM won)"
    )
}

/// Takes a row that is free for as many milliseconds as the third parameter says, or says what is in the way.
fn take(keys: &str, fence: &str, state: u8, condition: &str) -> String {
    let (until, in_the_way) = (after("$3"), in_the_way(keys));
    format!(
        "won AS (
             INSERT INTO {keys} AS held (scope, key, state, fence, until)
             SELECT $1, $2, {state}, nextval('{fence}'), {until} WHERE {condition}
             ON CONFLICT (scope, key) DO UPDATE
             SET state = excluded.state, fence = excluded.fence, until = {until}
             WHERE {IS_FREE} RETURNING fence)
         SELECT fence, NULL::smallint, NULL::bigint FROM won UNION ALL {in_the_way}"
    )
}

fn accept(keys: &str, queue: &str, fence: &str) -> String {
    let in_the_way = in_the_way(keys);
    format!(
        "WITH {DURABLY}, won AS (
             INSERT INTO {keys} AS held (scope, key, state, fence, until)
             SELECT $1, $2, 1, nextval('{fence}'), 'infinity' WHERE {IS_DURABLE}
             ON CONFLICT (scope, key) DO UPDATE
             SET state = excluded.state, fence = excluded.fence, until = excluded.until
             WHERE {IS_FREE} RETURNING fence),
         kept AS (
             INSERT INTO {queue} (scope, key, fence, attempts, due, payload)
             SELECT $1, $2, 0, 0, clock_timestamp(), $3 FROM won)
         SELECT fence, NULL::smallint, NULL::bigint FROM won UNION ALL {in_the_way}"
    )
}
