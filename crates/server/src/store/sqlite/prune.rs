//! Removing what is old, in SQL.

use formsvc_protocol::FormInstant;
use rusqlite::{Connection, Row, params};

use super::forms::form_no;
use super::submissions::keys_of;
use crate::store::prune::{Looked, found};
use crate::store::{Prunable, PruneCursor, PruneRequest, Pruned, StoreError};

/// What was tried before the last attempt, which stands with its delivery.
const ATTEMPTS: &str = "SELECT submission, endpoint_no, number, started_us < ?4 FROM attempts
    WHERE (submission, endpoint_no, number) > (?1, ?2, ?3)
    ORDER BY submission, endpoint_no, number LIMIT ?5";
/// One that is to be resent stands in the queue or under a lease, and has a time there.
const DELIVERIES: &str = "SELECT submission, endpoint_no, 0,
        state IN (2, 3, 4) AND next_us IS NULL AND finished_us < ?4
    FROM deliveries WHERE (submission, endpoint_no) > (?1, ?2) AND ?3 IS NOT NULL
    ORDER BY submission, endpoint_no LIMIT ?5";
/// Those of a form that are old enough are in front.
const SUBMISSIONS: &str = "SELECT key, 0, 0, NOT EXISTS (SELECT 1 FROM deliveries d
            WHERE d.submission = s.key AND (d.state IN (0, 1) OR d.next_us IS NOT NULL))
    FROM submissions s WHERE key > ?1 AND key <= (SELECT p.key FROM submissions p
        WHERE p.form_no = ?3 AND p.instant_us < ?4 ORDER BY p.instant_us DESC LIMIT 1)
        AND ?2 IS NOT NULL
    ORDER BY key LIMIT ?5";
const SPAM: &str = "SELECT spam_no, 0, 0, received_us < ?4 FROM spam
    WHERE spam_no > ?1 AND ?2 IS NOT NULL AND ?3 IS NOT NULL ORDER BY spam_no LIMIT ?5";

/// Counts what a step would remove.
pub(super) fn count(
    db: &Connection,
    request: &PruneRequest,
    now: FormInstant,
) -> Result<Pruned, StoreError> {
    let (old, next) = look(db, request, now)?;
    Ok(Pruned { count: old.len() as u64, next })
}

/// One step.
pub(super) fn prune(
    db: &Connection,
    request: &PruneRequest,
    now: FormInstant,
) -> Result<Pruned, StoreError> {
    let (old, next) = look(db, request, now)?;
    let statements: &[&str] = match request.what {
        Prunable::Attempts => {
            &["DELETE FROM attempts WHERE submission = ?1 AND endpoint_no = ?2 AND number = ?3"]
        }
        Prunable::Deliveries => &[
            "DELETE FROM attempts WHERE submission = ?1 AND endpoint_no = ?2 AND ?3 IS NOT NULL",
            "DELETE FROM deliveries WHERE submission = ?1 AND endpoint_no = ?2 AND ?3 IS NOT NULL",
        ],
        Prunable::Submissions(_) => &[
            "DELETE FROM attempts WHERE submission = ?1 AND ?2 IS NOT NULL AND ?3 IS NOT NULL",
            "DELETE FROM deliveries WHERE submission = ?1 AND ?2 IS NOT NULL AND ?3 IS NOT NULL",
            "DELETE FROM submissions WHERE key = ?1 AND ?2 IS NOT NULL AND ?3 IS NOT NULL",
        ],
        Prunable::Spam => {
            &["DELETE FROM spam WHERE spam_no = ?1 AND ?2 IS NOT NULL AND ?3 IS NOT NULL"]
        }
    };
    for sql in statements {
        let mut delete = db.prepare_cached(sql)?;
        for key in &old {
            delete.execute(*key)?;
        }
    }
    let count = old.len() as u64;
    if let (Prunable::Submissions(form), 1..) = (&request.what, count) {
        // The end of the form stays where it is: what comes next is later than all it ever had.
        db.prepare_cached("UPDATE forms SET pruned = pruned + ?2 WHERE form_no = ?1")?
            .execute(params![form_no(db, form)?, i64::try_from(count).unwrap_or(i64::MAX)])?;
    }
    Ok(Pruned { count, next })
}

/// Keys of what is old, and where to go on.
type Old = (Vec<[i64; 3]>, Option<PruneCursor>);

fn look(db: &Connection, request: &PruneRequest, now: FormInstant) -> Result<Old, StoreError> {
    let PruneCursor(mut after) = request.after;
    let sql = match &request.what {
        Prunable::Attempts => ATTEMPTS,
        Prunable::Deliveries => DELIVERIES,
        Prunable::Submissions(form) => {
            let form_no = form_no(db, form)?;
            after = [after[0].max(*keys_of(form_no).start()), 0, form_no];
            SUBMISSIONS
        }
        Prunable::Spam => SPAM,
    };
    let age = i64::try_from(request.age.as_micros()).unwrap_or(i64::MAX);
    let (before, limit) = (now.micros().saturating_sub(age), request.what.looked_at());
    let mut statement = db.prepare_cached(sql)?;
    let looked = |row: &Row<'_>| {
        // What was never finished is not older than anything.
        let is_old = row.get::<_, Option<bool>>(3)?.unwrap_or(false);
        Ok(Looked { key: [row.get(0)?, row.get(1)?, row.get(2)?], is_old })
    };
    let rows = statement.query_map(params![after[0], after[1], after[2], before, limit], looked)?;
    let rows: Vec<_> = rows.collect::<Result<_, _>>()?;
    Ok(found(&rows, limit))
}
