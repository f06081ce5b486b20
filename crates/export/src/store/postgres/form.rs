//! A form in a PostgreSQL database.

use std::time::Duration;

use formsvc_table::{LabelLimits, LabelSet, TypeSet};

use super::address::Address;
use super::session::{Session, get, get_count};
use super::tables::{Access, check, create, lock_and_check};
use crate::error::ExportError;
use crate::error::PostgresError;
use crate::error::SyncError;
use crate::left_out::LeftOut;
use crate::sql::{form_hash, view_name, without_nul};
use crate::store::form_store::{Finished, FormRef, ViewChanges};
use crate::store::{RowRange, SeenIds, count_read, id_hash};

/// A view has 1,664 columns, and a name 63 bytes.
const LIMITS: LabelLimits = LabelLimits { labels: 1_500, heading_bytes: 63 };

/// A form in a PostgreSQL database, locked by this process.
#[derive(Debug)]
pub(crate) struct PgForm {
    pub(super) session: Session,
    pub(super) key: i64,
    pub(crate) view: String,
    pub(crate) changes: ViewChanges,
    /// Conditions of rows with an answer that its column of the typed view cannot hold.
    pub(super) unfit: Vec<String>,
    /// The session of the lock.
    _lock: Session,
}

impl PgForm {
    /// Locks a form; creates the tables if there are none, and adds the form if it is new.
    pub(crate) async fn open(address: &Address, form: FormRef<'_>) -> Result<Self, ExportError> {
        PostgresError::check_id(form.id)?;
        let session = Session::open(address).await?;
        session.begin().await?;
        if !check(&session, Access::Write).await? {
            create(&session).await?;
        }
        session.commit().await?;
        let Some(lock) = lock(address, form).await? else {
            return Err(SyncError::Locked(form.id.to_owned()).into());
        };
        // This transaction lasts as long as the run.
        lock_and_check(&lock).await?;
        session.begin().await?;
        let (key, view) = add_form(&session, form).await?;
        let changes = ViewChanges::default();
        let mut form = Self { session, key, view, changes, unfit: Vec::new(), _lock: lock };
        form.lock_row().await?;
        let labels = form.read_labels().await?;
        form.update_views(&labels).await?;
        form.session.commit().await?;
        Ok(form)
    }

    /// Waits for the transactions of other runs of the form, and locks them out.
    pub(super) async fn lock_row(&self) -> Result<(), PostgresError> {
        let select = "SELECT key FROM {t}sources WHERE key = $1 FOR UPDATE";
        self.session.query(select, typed![self.key => INT8]).await.map(drop)
    }

    pub(super) async fn read_labels(&self) -> Result<LabelSet, PostgresError> {
        const SELECT: &str =
            "SELECT label, heading, types FROM {t}labels WHERE source = $1 ORDER BY position";
        let (mut labels, mut bytes) = (LabelSet::new(LIMITS), 0);
        let values = typed![self.key => INT8];
        let read = self.session.for_each(SELECT, values, |row| {
            let (label, heading): (String, String) = (get(row, 0)?, get(row, 1)?);
            count_read("labels", &mut bytes, [&label, &heading]).map_err(PostgresError::Damaged)?;
            let types = TypeSet::from_bits(u8::try_from(get::<i64>(row, 2)?).unwrap_or(u8::MAX));
            labels.add_stored(label, heading, types);
            Ok::<_, PostgresError>(())
        });
        read.await?;
        Ok(labels)
    }

    /// Completes a run and ends the lock.
    pub(crate) async fn finish(mut self) -> Result<Finished, PostgresError> {
        if !self.unfit.is_empty() {
            let select = format!(
                "SELECT count(*) FROM {{t}}submissions WHERE source = $1 AND deleted_at IS NULL \
                 AND ({})",
                self.unfit.join(" OR ")
            );
            let rows = self.session.query_alone(&select, typed![self.key => INT8]).await?;
            self.changes.unfit_rows = get_count(&rows)?;
        }
        Ok(Finished { view: self.view, changes: self.changes, log: None })
    }

    pub(crate) async fn total(&self) -> Result<u64, PostgresError> {
        let select = "SELECT (SELECT count(*) FROM {t}submissions WHERE source = $1) - (SELECT count(*) \
             FROM {t}submissions WHERE source = $1 AND deleted_at IS NOT NULL)";
        let rows = self.session.query_alone(select, typed![self.key => INT8]).await?;
        get_count(&rows)
    }

    pub(crate) async fn count(&self, range: RowRange, max: u64) -> Result<u64, PostgresError> {
        const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM {t}submissions WHERE source = $1 \
             AND instant >= $2 AND instant < $3 AND ($4 OR deleted_at IS NULL) LIMIT $5) AS r";
        let RowRange { since, until, include_deleted } = range;
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        let values = typed![
            self.key => INT8, since => INT8, until => INT8, include_deleted => BOOL, max => INT8
        ];
        let rows = self.session.query_alone(COUNT, values).await?;
        get_count(&rows)
    }

    pub(crate) async fn left_out(&self) -> Result<LeftOut, PostgresError> {
        const SELECT: &str = "SELECT item <> '', description FROM {t}left_out WHERE source = $1 \
             ORDER BY start DESC";
        let (mut left_out, mut bytes) = (LeftOut::default(), 0);
        self.session.begin().await?;
        let values = typed![self.key => INT8];
        let read = self.session.for_each(SELECT, values, |row| {
            let description: String = get(row, 1)?;
            if left_out.add_stored(get(row, 0)?, &description) {
                let counted = count_read("left_out", &mut bytes, [&description]);
                counted.map_err(PostgresError::Damaged)?;
            }
            Ok::<_, PostgresError>(())
        });
        read.await?;
        self.session.commit().await?;
        Ok(left_out)
    }

    pub(crate) async fn ids_without(
        &self,
        seen: &SeenIds,
        before: i64,
    ) -> Result<Vec<String>, PostgresError> {
        const SELECT: &str = "SELECT id FROM {t}submissions WHERE source = $1 AND fetched_at < $2 \
             AND deleted_at IS NULL";
        let mut ids = Vec::new();
        let values = typed![self.key => INT8, before => INT8];
        self.session.begin().await?;
        let read = self.session.for_each::<PostgresError>(SELECT, values, |row| {
            let id: &str = get(row, 0)?;
            if !seen.contains(&id_hash(id)) {
                ids.push(id.to_owned());
            }
            Ok(())
        });
        read.await?;
        self.session.commit().await?;
        Ok(ids)
    }

    pub(crate) async fn set_proven(&self, until: i64) -> Result<(), PostgresError> {
        const UPDATE: &str = "WITH known AS (DELETE FROM {t}left_out WHERE source = $1 AND start <= $2) \
             UPDATE {t}coverage SET completeness = 'proven' WHERE source = $1 AND newest <= $2";
        self.session.query_alone(UPDATE, typed![self.key => INT8, until => INT8]).await.map(drop)
    }

    pub(crate) async fn mark_deleted(&self, ids: &[String], now: i64) -> Result<(), PostgresError> {
        let update = "UPDATE {t}submissions SET deleted_at = $3 WHERE source = $1 AND id = ANY($2)";
        let values = typed![self.key => INT8, ids => TEXT_ARRAY, now => INT8];
        self.session.query_alone(update, values).await.map(drop)
    }

    pub(crate) async fn purge_deleted(&self) -> Result<u64, PostgresError> {
        const DELETE: &str = "WITH purged AS (DELETE FROM {t}submissions WHERE source = $1 \
             AND deleted_at IS NOT NULL RETURNING id), items AS (DELETE FROM {t}left_out \
             WHERE source = $1 AND item IN (SELECT id FROM purged)) SELECT count(*) FROM purged";
        let rows = self.session.query_alone(DELETE, typed![self.key => INT8]).await?;
        get_count(&rows)
    }
}

/// Attempts to take a lock: the server frees the lock of a closed connection a moment later.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(100);
/// The transaction of the lock is idle during the whole run. `transaction_timeout` exists since
/// PostgreSQL 17.
const NO_TIME_LIMITS: &str = "SELECT set_config(name, '0', true) FROM pg_catalog.pg_settings \
     WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')";

/// Takes the lock of a form; `None` if another process has it. The lock belongs to an open transaction
/// of its own session, and ends with its connection. It works behind a pooler too, which may give
/// each transaction another session of the server.
async fn lock(address: &Address, form: FormRef<'_>) -> Result<Option<Session>, PostgresError> {
    let hash = form_hash(&format!("{}\n{}", address.schema, form.origin), form.id);
    let number = u64::from_str_radix(&hash[..16], 16).expect("a hash has hexadecimal digits");
    let select = format!("SELECT pg_try_advisory_xact_lock({})", number.cast_signed());
    let session = Session::open(address).await?;
    session.begin().await?;
    session.run(NO_TIME_LIMITS).await?;
    for _ in 0..LOCK_ATTEMPTS {
        if get(&session.query_one(&select, &[]).await?, 0)? {
            return Ok(Some(session));
        }
        tokio::time::sleep(LOCK_PAUSE).await;
    }
    Ok(None)
}

/// Returns the key and the view of a form; adds it if it is new. Title and public id replace the stored
/// ones if the form was listed.
async fn add_form(session: &Session, form: FormRef<'_>) -> Result<(i64, String), PostgresError> {
    const UPSERT: &str = "INSERT INTO {t}sources AS s (origin, form_id, title, view, public_id) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (origin, form_id) DO UPDATE SET title = excluded.title, \
         public_id = excluded.public_id WHERE excluded.title <> coalesce(s.title, '') \
         OR excluded.public_id <> coalesce(s.public_id, '')";
    let [title, public_id] = [form.title, form.public_id].map(|text| text.map(without_nul));
    let view = view_name(form.title, form.origin, form.id);
    let values = typed![form.origin => TEXT, form.id => TEXT, title => TEXT, view => TEXT,
        public_id => TEXT];
    session.query(UPSERT, values).await?;
    let select = "SELECT key, view FROM {t}sources WHERE origin = $1 AND form_id = $2";
    let row = session.query_one(select, typed![form.origin => TEXT, form.id => TEXT]).await?;
    Ok((get(&row, 0)?, get(&row, 1)?))
}
