//! Idempotency keys: telling a repeated submission from a new one.

use std::collections::HashMap;

use deadpool_postgres::GenericClient;
use formsvc_protocol::{FormInstant, SubmissionId};
use tokio_postgres::Row;

use super::rows::{column, execute, instant, text_id};
use crate::store::rules::REMEMBERED;
use crate::store::{Accepted, Idempotency, StoreError};

/// Keys forgotten in one transaction.
const FORGOTTEN_AT_ONCE: i64 = 500;

/// What was answered to the first submissions with some keys.
pub(super) const FIND: &str =
    "SELECT i.form_no, i.key, i.fingerprint, i.created_us, s.id, s.instant_us
    FROM unnest($1::text[], $2::bytea[]) AS n (form, key) JOIN forms f ON f.id = n.form
        JOIN idempotency i ON i.form_no = f.form_no AND i.key = n.key
        JOIN submissions s ON s.key = i.submission";

/// A key that was used.
struct Used {
    fingerprint: [u8; 32],
    created: FormInstant,
    accepted: Accepted,
}

/// Keys that were used, with those of the batch under way.
pub(super) struct Repeats(HashMap<(i64, [u8; 32]), Used>);

impl Repeats {
    /// From the rows of [`FIND`].
    pub(super) fn of(rows: &[Row]) -> Result<Self, StoreError> {
        let mut used = HashMap::new();
        for row in rows {
            let accepted = Accepted {
                id: text_id(row, 4, SubmissionId::new)?,
                instant: instant(row, 5)?,
                repeated: true,
            };
            let (fingerprint, created) = (digest(row, 2)?, instant(row, 3)?);
            let key = (column(row, 0)?, digest(row, 1)?);
            used.insert(key, Used { fingerprint, created, accepted });
        }
        Ok(Self(used))
    }

    /// What was answered to the first submission with a key, if there was one in the last day.
    pub(super) fn find(
        &self,
        form_no: i64,
        idempotency: &Idempotency,
        now: FormInstant,
    ) -> Result<Option<Accepted>, StoreError> {
        let Some(used) = self.0.get(&(form_no, idempotency.key)) else { return Ok(None) };
        if now.since(used.created) > REMEMBERED {
            return Ok(None);
        }
        if used.fingerprint == idempotency.fingerprint {
            Ok(Some(used.accepted.clone()))
        } else {
            Err(StoreError::KeyReused)
        }
    }

    /// Takes note of a key used now.
    pub(super) fn note(
        &mut self,
        form_no: i64,
        idempotency: &Idempotency,
        id: &SubmissionId,
        at: FormInstant,
        now: FormInstant,
    ) {
        let accepted = Accepted { id: id.clone(), instant: at, repeated: true };
        let used = Used { fingerprint: idempotency.fingerprint, created: now, accepted };
        self.0.insert((form_no, idempotency.key), used);
    }
}

fn digest(row: &Row, at: usize) -> Result<[u8; 32], StoreError> {
    let bytes: &[u8] = column(row, at)?;
    bytes.try_into().map_err(|error| StoreError::Internal(Box::new(error)))
}

/// Forgets some old keys; `true` when there may be more.
pub(super) async fn forget_some(
    db: &impl GenericClient,
    now: Option<i64>,
) -> Result<bool, StoreError> {
    let day = i64::try_from(REMEMBERED.as_micros()).unwrap_or(i64::MAX);
    // One from the future was made by a clock that was ahead.
    let sql = "WITH n AS MATERIALIZED (SELECT now_us($1) AS us), old AS (
            SELECT form_no, key FROM idempotency
            WHERE created_us < (SELECT us FROM n) - $2 OR created_us > (SELECT us FROM n) + $2
            LIMIT $3 FOR UPDATE SKIP LOCKED)
        DELETE FROM idempotency i USING old WHERE i.form_no = old.form_no AND i.key = old.key";
    let forgotten = execute(db, sql, &[&now, &day, &FORGOTTEN_AT_ONCE]).await?;
    Ok(i64::try_from(forgotten).unwrap_or(i64::MAX) >= FORGOTTEN_AT_ONCE)
}
