//! Whose a request is, and whether it may come now: its key, and the rolling window that all processes on
//! the database count in, by the database's clock, in one round trip for all requests that come together.
//!
//! The rule is that of `formsvc_protocol::RollingWindow`, written in SQL; a property holds the two
//! together. The row of a key is locked by whoever counts in it, for one statement without a transaction
//! around it, so that no count is lost and nobody holds a lock while it hangs.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use deadpool_postgres::Pool;
use futures_util::future::try_join;
use tokio::task::JoinHandle;

use super::lent::{Lent, in_time};
use super::rows::{Params, column, execute, prepare};
use super::time::Time;
use super::turns::{Ask, Turns};
use super::users::{BY_HASHES, authenticated};
use crate::rate_limit::{RateLimit, whole_seconds};
use crate::store::{Authenticated, KeyHash, StoreError};
use crate::supervise::supervise;

/// How often rows are removed in which nothing counts any more.
const SWEEP_EVERY: Duration = Duration::from_secs(600);

/// Counts some requests of each key that is good, and gives how many of them are admitted, and the wait of
/// the others.
/// All of them come at one instant. Rows are locked in the order of their keys, and the time is looked at
/// once the lock is there.
const COUNT: &str =
    "INSERT INTO rate_windows AS w (key, seconds, counts, idle_after_s, admitted, wait_us)
    SELECT n.key, ARRAY[n.us / 1000000], ARRAY[n.admitted], n.us / 1000000 + $4, n.admitted,
        (n.us / 1000000 + $4 + 1) * 1000000 - n.us
    FROM (SELECT k.key, least(k.asked, $3) AS admitted, now_us($5) AS us
          FROM unnest($1::bytea[], $2::integer[]) AS k (key, asked)
          JOIN api_keys a ON a.hash = k.key AND a.revoked_us IS NULL ORDER BY k.key OFFSET 0) n
    ON CONFLICT (key) DO UPDATE SET (seconds, counts, idle_after_s, admitted, wait_us) = (
        SELECT after.seconds, after.counts, after.seconds[cardinality(after.seconds)] + $4,
            a.admitted, greatest((after.seconds[1] + $4 + 1) * 1000000 - n.us, 0)
        FROM (SELECT now_us($5) AS us OFFSET 0) n,
        -- A clock that steps back must not open a second before the newest.
        LATERAL (SELECT greatest(n.us / 1000000, w.seconds[cardinality(w.seconds)]) AS second) t,
        LATERAL (SELECT coalesce(array_agg(b.second ORDER BY b.second), '{}') AS seconds,
                coalesce(array_agg(b.count ORDER BY b.second), '{}') AS counts,
                coalesce(sum(b.count), 0)::integer AS total
            FROM unnest(w.seconds, w.counts) AS b (second, count)
            WHERE b.second + $4 >= t.second) kept,
        LATERAL (SELECT greatest(least(excluded.admitted, $3 - kept.total), 0) AS admitted) a,
        LATERAL (SELECT cardinality(kept.seconds) AS last) l,
        LATERAL (SELECT
            CASE WHEN a.admitted = 0 OR kept.seconds[l.last] = t.second THEN kept.seconds
                 ELSE kept.seconds || t.second END AS seconds,
            CASE WHEN a.admitted = 0 THEN kept.counts
                 WHEN kept.seconds[l.last] = t.second
                 THEN kept.counts[:l.last - 1] || (kept.counts[l.last] + a.admitted)
                 ELSE kept.counts || a.admitted END AS counts) after)
    RETURNING key, admitted, wait_us";

/// What another process is about to count in stays.
const SWEEP: &str = "WITH idle AS (
        SELECT key FROM rate_windows WHERE idle_after_s < now_us($1) / 1000000
        ORDER BY key FOR UPDATE SKIP LOCKED)
    DELETE FROM rate_windows w USING idle WHERE w.key = idle.key";

/// How many requests are admitted in which time, which counts in whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rule {
    pub(super) requests: NonZeroU32,
    pub(super) window: Duration,
}

impl Rule {
    /// Requests, and seconds, as the database takes them.
    fn numbers(self) -> (i32, i64) {
        let window = self.window.as_secs() + u64::from(self.window.subsec_nanos() > 0);
        let requests = i32::try_from(self.requests.get()).unwrap_or(i32::MAX);
        (requests, i64::try_from(window).unwrap_or(i64::from(i32::MAX)))
    }

    pub(super) fn of(limit: RateLimit) -> Option<Self> {
        match limit {
            RateLimit::Per { requests, window } => Some(Self { requests, window }),
            RateLimit::Off => None,
        }
    }
}

/// What is asked of a request.
type Question = (KeyHash, Option<Rule>);

/// Where requests are handed in.
pub(super) struct Requests {
    turns: Turns<Question, Option<Authenticated>>,
    sweeping: JoinHandle<()>,
}

impl Requests {
    /// Begins to answer. Must be called within a tokio runtime.
    pub(super) fn start(pool: &Pool, time: &Time, within: Duration) -> Self {
        let turns = Turns::start("requests", pool, within, Judging { time: time.clone() });
        let (pool, time) = (pool.clone(), time.clone());
        let sweeping = tokio::spawn(supervise("rate limits", move || {
            sweep_from_time_to_time(pool.clone(), time.clone(), within)
        }));
        Self { turns, sweeping }
    }

    /// Finds the key of a request, and counts it when there is a rule. One whose future is dropped before
    /// its turn is not counted.
    pub(super) async fn authenticate(
        &self,
        key: KeyHash,
        rule: Option<Rule>,
    ) -> Result<Option<Authenticated>, StoreError> {
        self.turns.ask((key, rule)).await
    }

    /// Answers no more.
    pub(super) fn close(&self) {
        self.turns.close();
        self.sweeping.abort();
    }
}

impl Drop for Requests {
    fn drop(&mut self) {
        self.close();
    }
}

async fn sweep_from_time_to_time(pool: Pool, time: Time, within: Duration) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        // What is left is removed the next time.
        let _ = in_time(&pool, within, sweep(&pool, &time)).await;
    }
}

/// The places, among the questions, of those that ask about one key.
type Asked = HashMap<[u8; 32], Vec<usize>>;

/// Asks about requests.
struct Judging {
    time: Time,
}

impl Ask<Question, Option<Authenticated>> for Judging {
    async fn ask(
        &self,
        pool: &Pool,
        questions: Vec<Question>,
    ) -> Result<Vec<Option<Authenticated>>, StoreError> {
        // A process has one rule.
        let mut rules: HashMap<Option<Rule>, Asked> = HashMap::new();
        for (place, (key, rule)) in questions.iter().enumerate() {
            rules.entry(*rule).or_default().entry(key.0).or_default().push(place);
        }
        let mut answers = vec![None; questions.len()];
        for (rule, asked) in rules {
            for (found, judged) in judge(pool, &self.time, rule, &asked).await? {
                let places = asked.get(&found.hash.0).into_iter().flatten();
                for (nth, place) in places.enumerate() {
                    let counted =
                        judged.map(
                            |(admitted, wait)| {
                                if nth < admitted { Ok(()) } else { Err(whole_seconds(wait)) }
                            },
                        );
                    answers[*place] = Some(Authenticated { counted, ..found.clone() });
                }
            }
        }
        Ok(answers)
    }
}

/// How many requests of a key are admitted, and how long the others wait.
type Counted = (usize, Duration);

/// The keys that there are, and what came of counting.
async fn judge(
    pool: &Pool,
    time: &Time,
    rule: Option<Rule>,
    asked: &Asked,
) -> Result<Vec<(Authenticated, Option<Counted>)>, StoreError> {
    let (keys, counts): (Vec<&[u8]>, Vec<i32>) = asked
        .iter()
        .map(|(key, places)| (&key[..], i32::try_from(places.len()).unwrap_or(i32::MAX)))
        .unzip();
    let (requests, window) = rule.map_or((0, 0), Rule::numbers);
    let counting: Params<'_> = &[&keys, &counts, &requests, &window, &time.given()];
    let db = Lent::by(pool).await?;
    let [find, count] = prepare(&*db, [BY_HASHES, COUNT]).await?;
    let count =
        async { if rule.is_none() { Ok(Vec::new()) } else { db.query(&count, counting).await } };
    let (found, rows) = try_join(db.query(&find, &[&keys]), count).await?;
    db.give_back();
    let mut counted: HashMap<&[u8], Counted> = HashMap::new();
    for row in &rows {
        let (admitted, wait): (i32, i64) = (column(row, 1)?, column(row, 2)?);
        let wait = Duration::from_micros(wait.unsigned_abs());
        counted.insert(column(row, 0)?, (usize::try_from(admitted).unwrap_or(0), wait));
    }
    let judged = found.iter().map(|row| {
        let mut key = authenticated(row)?;
        let counted = counted.get(&key.hash.0[..]).copied();
        // A key that was good and was not counted was revoked between the two.
        key.revoked |= rule.is_some() && counted.is_none();
        Ok((key, counted))
    });
    judged.collect()
}

async fn sweep(pool: &Pool, time: &Time) -> Result<u64, StoreError> {
    let client = Lent::by(pool).await?;
    let swept = execute(&*client, SWEEP, &[&time.given()]).await?;
    client.give_back();
    Ok(swept)
}

#[cfg(all(test, feature = "contract"))]
mod tests {
    use super::super::PostgresOptions;
    use super::super::connect::Connector;
    use super::super::schema;
    use super::*;
    use crate::store::SchemaPolicy;
    use crate::store::contract::ManualClock;
    use crate::store::contract::cluster::Cluster;

    #[tokio::test]
    async fn rows_in_which_nothing_counts_any_more_are_removed() {
        let Some(cluster) = Cluster::or_skip() else { return };
        let options = PostgresOptions::of(cluster.fresh_schema());
        let pool = Connector::new(&options.address).unwrap().pool(1).unwrap();
        schema::migrate(&pool, SchemaPolicy::Create).await.unwrap();
        let clock = ManualClock::at(1_767_225_600_000_000);
        let time = Time::Given(clock.clock());
        pool.get()
            .await
            .unwrap()
            .batch_execute(
                "INSERT INTO users (id, email, email_key, name, created_us)
                    VALUES ('usr_1', 'a@example.org', 'a@example.org', 'A', 0);
                INSERT INTO api_keys (id, user_no, name, prefix, hash, created_us)
                    SELECT 'key_' || n, 1, 'k', 'fsk_', decode(repeat('0' || n, 32), 'hex'), 0
                    FROM generate_series(1, 2) AS n",
            )
            .await
            .unwrap();
        let rule = Rule { requests: NonZeroU32::MIN, window: Duration::from_secs(60) };
        let count = async |key| {
            let asked = Asked::from([([key; 32], vec![0])]);
            let judged = judge(&pool, &time, Some(rule), &asked).await.unwrap();
            judged[0].1.unwrap().0
        };
        assert_eq!(count(1).await, 1);
        clock.advance(30_000_000);
        assert_eq!(count(2).await, 1);
        clock.advance(30_000_000);
        assert_eq!(sweep(&pool, &time).await.unwrap(), 0, "the first counts in this second yet");
        clock.advance(1_000_000);
        assert_eq!(sweep(&pool, &time).await.unwrap(), 1);
        assert_eq!(count(2).await, 0);
    }
}
