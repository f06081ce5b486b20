//! Removing what is old, in SQL.

use deadpool_postgres::GenericClient;
use tokio_postgres::Row;

use super::forms::form_no;
use super::pages::SEQ_BITS;
use super::rows::{Params, column, execute, query};
use crate::store::prune::{Looked, found};
use crate::store::{Prunable, PruneCursor, PruneRequest, Pruned, StoreError};

/// What was tried before the last attempt.
const ATTEMPTS: &str = "SELECT a.submission, a.endpoint_no, a.number::bigint, a.number < d.attempts
        AND a.started_us < (SELECT now_us($4) - $5)
    FROM attempts a LEFT JOIN deliveries d USING (submission, endpoint_no)
    WHERE (a.submission, a.endpoint_no, a.number) > ($1, $2, $3::bigint)
    ORDER BY a.submission, a.endpoint_no, a.number LIMIT $6";
/// One that is to be resent stands in the queue, and has a time there.
const DELIVERIES: &str = "SELECT submission, endpoint_no, 0::bigint,
        state IN (2, 3, 4) AND next_us IS NULL AND finished_us < (SELECT now_us($4) - $5)
    FROM deliveries WHERE (submission, endpoint_no) > ($1, $2) AND $3::bigint IS NOT NULL
    ORDER BY submission, endpoint_no LIMIT $6";
/// Those of a form that are old enough are in front.
const SUBMISSIONS: &str = "SELECT key, 0::bigint, 0::bigint, NOT EXISTS (SELECT 1 FROM deliveries d
            WHERE d.submission = s.key AND (d.state IN (0, 1) OR d.next_us IS NOT NULL))
    FROM submissions s WHERE key > $1 AND key <= (SELECT p.key FROM submissions p
        WHERE p.form_no = $3 AND p.instant_us < (SELECT now_us($4) - $5)
        ORDER BY p.instant_us DESC LIMIT 1) AND $2::bigint IS NOT NULL
    ORDER BY key LIMIT $6";
const SPAM: &str = "SELECT spam_no, 0::bigint, 0::bigint, received_us < (SELECT now_us($4) - $5)
    FROM spam WHERE spam_no > $1 AND $2::bigint IS NOT NULL AND $3::bigint IS NOT NULL
    ORDER BY spam_no LIMIT $6";

/// Deliveries of submissions, locked in one order until the commit: nobody resends them meanwhile.
/// Those that stand in the way are told.
const IN_THE_WAY: &str = "SELECT submission, state IN (0, 1) OR next_us IS NOT NULL
    FROM deliveries WHERE submission = ANY($1) ORDER BY submission, endpoint_no FOR UPDATE";

/// Counts what a step would remove.
pub(super) async fn count(
    db: &impl GenericClient,
    request: &PruneRequest,
    now: Option<i64>,
) -> Result<Pruned, StoreError> {
    let (old, next) = look(db, request, now).await?;
    Ok(Pruned { count: old.len() as u64, next })
}

/// One step. What changed since it was looked at is judged again.
pub(super) async fn prune(
    db: &impl GenericClient,
    request: &PruneRequest,
    now: Option<i64>,
) -> Result<Pruned, StoreError> {
    let (old, next) = look(db, request, now).await?;
    let part = |at: usize| old.iter().map(|key| key[at]).collect::<Vec<_>>();
    let (first, second, third) = (part(0), part(1), part(2));
    let count = match &request.what {
        Prunable::Attempts => {
            let sql =
                "DELETE FROM attempts a USING unnest($1::bigint[], $2::bigint[], $3::bigint[])
                    AS o (submission, endpoint_no, number)
                WHERE a.submission = o.submission AND a.endpoint_no = o.endpoint_no
                    AND a.number = o.number";
            execute(db, sql, &[&first, &second, &third]).await?
        }
        Prunable::Deliveries => {
            let sql = "WITH gone AS (
                    DELETE FROM deliveries d USING unnest($1::bigint[], $2::bigint[])
                        AS o (submission, endpoint_no)
                    WHERE d.submission = o.submission AND d.endpoint_no = o.endpoint_no
                        AND d.state IN (2, 3, 4) AND d.next_us IS NULL
                        AND d.finished_us < now_us($3) - $4
                    RETURNING d.submission, d.endpoint_no),
                tried AS (DELETE FROM attempts a USING gone g
                    WHERE a.submission = g.submission AND a.endpoint_no = g.endpoint_no)
                SELECT count(*) FROM gone";
            let rows = query(db, sql, &[&first, &second, &now, &age_of(request)]).await?;
            rows.first().map_or(Ok(0), |row| column::<i64>(row, 0))?.unsigned_abs()
        }
        Prunable::Submissions(form) => {
            let count = submissions(db, first).await?;
            // The end of the form stays where it is: what comes next is later than all it ever had.
            let sql = "UPDATE forms SET pruned = pruned + $2 WHERE id = $1 AND $2::bigint > 0";
            let pruned = i64::try_from(count).unwrap_or(i64::MAX);
            execute(db, sql, &[&form.as_str(), &pruned]).await?;
            count
        }
        Prunable::Spam => {
            execute(db, "DELETE FROM spam WHERE spam_no = ANY($1)", &[&first]).await?
        }
    };
    Ok(Pruned { count, next })
}

async fn submissions(db: &impl GenericClient, mut keys: Vec<i64>) -> Result<u64, StoreError> {
    let rows = query(db, IN_THE_WAY, &[&keys]).await?;
    for row in rows {
        let (submission, is_in_the_way): (i64, bool) = (column(&row, 0)?, column(&row, 1)?);
        if is_in_the_way {
            keys.retain(|key| *key != submission);
        }
    }
    execute(db, "DELETE FROM attempts WHERE submission = ANY($1)", &[&keys]).await?;
    execute(db, "DELETE FROM deliveries WHERE submission = ANY($1)", &[&keys]).await?;
    execute(db, "DELETE FROM submissions WHERE key = ANY($1)", &[&keys]).await
}

/// Microseconds. Subtracted from the time of day they must stay a number.
fn age_of(request: &PruneRequest) -> i64 {
    i64::try_from(request.age.as_micros()).unwrap_or(i64::MAX).min(i64::MAX / 2)
}

/// Keys of what is old, and where to go on.
type Old = (Vec<[i64; 3]>, Option<PruneCursor>);

async fn look(
    db: &impl GenericClient,
    request: &PruneRequest,
    now: Option<i64>,
) -> Result<Old, StoreError> {
    let PruneCursor(mut after) = request.after;
    let sql = match &request.what {
        Prunable::Attempts => ATTEMPTS,
        Prunable::Deliveries => DELIVERIES,
        Prunable::Submissions(form) => {
            let form_no = form_no(db, form).await?;
            after = [after[0].max(form_no << SEQ_BITS), 0, form_no];
            SUBMISSIONS
        }
        Prunable::Spam => SPAM,
    };
    let age = age_of(request);
    let limit = request.what.looked_at();
    let wanted = i64::from(limit);
    let params: Params<'_> = &[&after[0], &after[1], &after[2], &now, &age, &wanted];
    let looked = |row: &Row| {
        // What was never finished is not older than anything.
        let is_old = column::<Option<bool>>(row, 3)?.unwrap_or(false);
        Ok(Looked { key: [column(row, 0)?, column(row, 1)?, column(row, 2)?], is_old })
    };
    let rows = query(db, sql, params).await?;
    let rows: Vec<_> = rows.iter().map(looked).collect::<Result<_, StoreError>>()?;
    Ok(found(&rows, limit))
}
