//! SQL statements.
//!
//! States of a key: 0 claimed, 1 queued, 2 handled, 3 released. Durations are parameters in
//! milliseconds. `clock_timestamp()` is the current time also in a statement that waited for a lock.

use tokio_postgres::types::{ToSql, Type};

use super::names::TableNames;

/// A parameter and its type. Statements are not prepared, so that connection poolers can be used.
pub(super) type Param<'a> = (&'a (dyn ToSql + Sync), Type);

/// The statements for one set of tables.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) claim: String,
    pub(super) extend: String,
    pub(super) extend_queued: String,
    pub(super) complete: String,
    pub(super) complete_queued: String,
    pub(super) release: String,
    pub(super) release_queued: String,
    pub(super) accept: String,
    pub(super) next: String,
    pub(super) lock_mark: String,
    pub(super) mark: String,
    pub(super) prune: String,
}

/// Makes the commit of this statement wait for the disk if the server's setting would not: a delivery
/// must not be answered before its mark is durable, and a fencing token must not be issued twice.
const DURABLE: &str = "durable AS MATERIALIZED (
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') = 'off')";
/// Evaluates `DURABLE`, and is always true.
const IS_DURABLE: &str = "(SELECT count(*) FROM durable) >= 0";
/// Condition for taking an existing row. The comparison keeps fencing tokens increasing if this
/// statement waited for the row's lock.
const IS_FREE: &str = "old.fence < excluded.fence
    AND (old.state = 3 OR (old.state <> 1 AND old.until <= clock_timestamp()))";

impl Statements {
    pub(super) fn new(names: &TableNames) -> Self {
        let [keys, queue, fence] = ["", "_queue", "_fence"].map(|suffix| names.table(suffix));
        let lease_end = millis_from_now("$4");
        Self {
            claim: take(&keys, &fence, 0, &millis_from_now("$3"), ""),
            mark: take(&keys, &fence, 2, &millis_from_now("$3"), ""),
            // The table's oid, because the same names can exist in several schemas of a database.
            lock_mark: format!(
                "SELECT pg_try_advisory_xact_lock(hashtextextended(
                     $1 || encode($2, 'hex'), '{keys}'::regclass::oid::bigint))"
            ),
            accept: take(
                &keys,
                &fence,
                1,
                "'infinity'::timestamptz",
                &format!(
                    ", queued AS (
                     INSERT INTO {queue} (scope, key, fence, attempts, due, payload)
                     SELECT $1, $2, 0, 0, clock_timestamp(), $3 FROM taken)"
                ),
            ),
            extend: format!(
                "UPDATE {keys} SET until = {lease_end}
                 WHERE scope = $1 AND key = $2 AND fence = $3 AND state = 0 RETURNING 1"
            ),
            extend_queued: format!(
                "UPDATE {queue} SET due = {} WHERE place = $1 AND fence = $2 RETURNING 1",
                millis_from_now("$3")
            ),
            // A repeated call finds state 2 and its own fencing token.
            complete: format!(
                "WITH {DURABLE}
                 UPDATE {keys} SET state = 2, until = {lease_end}
                 WHERE scope = $1 AND key = $2 AND fence = $3 AND state IN (0, 2) AND {IS_DURABLE}
                 RETURNING 1"
            ),
            complete_queued: format!(
                "WITH {DURABLE}, deleted AS (
                     DELETE FROM {queue} WHERE place = $5 AND fence = $3 AND {IS_DURABLE} RETURNING 1)
                 UPDATE {keys} SET state = 2, fence = $3, until = {lease_end}
                 WHERE scope = $1 AND key = $2
                     AND (EXISTS (SELECT 1 FROM deleted) OR (state = 2 AND fence = $3))
                 RETURNING 1"
            ),
            release: format!(
                "UPDATE {keys} SET state = 3, until = clock_timestamp()
                 WHERE scope = $1 AND key = $2 AND fence = $3 AND state = 0 RETURNING 1"
            ),
            release_queued: format!(
                "UPDATE {queue} SET due = {}, fence = nextval('{fence}')
                 WHERE place = $1 AND fence = $2 RETURNING 1",
                millis_from_now("$3")
            ),
            next: format!(
                "WITH {DURABLE}, next AS (
                     SELECT place FROM {queue}
                     WHERE scope = $1 AND due <= statement_timestamp() AND {IS_DURABLE}
                     ORDER BY due, place LIMIT 1 FOR UPDATE SKIP LOCKED)
                 UPDATE {queue} q
                 SET due = {}, fence = nextval('{fence}'), attempts = attempts + 1
                 FROM next WHERE q.place = next.place
                 RETURNING q.place, q.key, q.fence, q.attempts, q.payload",
                millis_from_now("$2")
            ),
            // An expired claim is kept for one day: its holder can still complete it.
            prune: format!(
                "DELETE FROM {keys} k USING (
                     SELECT scope, key FROM {keys}
                     WHERE state <> 1 AND until <= statement_timestamp()
                         AND (state = 2 OR until <= statement_timestamp() - interval '1 day')
                     ORDER BY until LIMIT $1 FOR UPDATE SKIP LOCKED) expired
                 WHERE k.scope = expired.scope AND k.key = expired.key RETURNING 1"
            ),
        }
    }
}

fn millis_from_now(millis: &str) -> String {
    format!("clock_timestamp() + {millis}::bigint * interval '1 millisecond'")
}

/// Takes the key $2 of the scope $1 if it is free, and returns the fencing token. Otherwise returns the
/// state of the row and the milliseconds until it expires; no row if another statement inserted one
/// meanwhile. `and_then` is a further part of the statement, which can read the table `taken`.
fn take(keys: &str, fence: &str, state: u8, until: &str, and_then: &str) -> String {
    format!(
        "WITH {DURABLE}, taken AS (
             INSERT INTO {keys} AS old (scope, key, state, fence, until)
             SELECT $1, $2, {state}, nextval('{fence}'), {until} WHERE {IS_DURABLE}
             ON CONFLICT (scope, key) DO UPDATE
             SET state = excluded.state, fence = excluded.fence, until = {until}
             WHERE {IS_FREE} RETURNING fence){and_then}
         SELECT fence, NULL::smallint, NULL::bigint FROM taken
         UNION ALL
         SELECT NULL::bigint, state, CASE WHEN state <> 1 THEN
             ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint END
         FROM {keys} WHERE scope = $1 AND key = $2 AND NOT EXISTS (SELECT 1 FROM taken)"
    )
}
