//! Compares the stored submissions of a form with all that the service has.

use std::path::Path;

use formsvc_client::{Client, Completeness, FormId};
use rusqlite::{Connection, params};
use tokio::time::Instant;

use super::error::SyncError;
use super::form_store::FormStore;
use super::{SyncEvent, SyncStore, ViewChanges};
use crate::error::ExportError;
use crate::pull::{PullProgress, next_page, unix_micros_now};
use crate::store::{PageToWrite, StoreError};

/// How to verify a form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyOptions {
    /// Marks stored submissions as deleted that the service does not have.
    pub mark_deleted: bool,
    /// Submissions per request.
    pub page_size: u32,
    /// Continues where more submissions share a unit of the service's cursor than a page can show.
    pub allow_incomplete: bool,
    /// Stops at this time.
    pub deadline: Option<Instant>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            mark_deleted: false,
            page_size: formsvc_client::PAGE_SIZE_MAX,
            allow_incomplete: false,
            deadline: None,
        }
    }
}

/// The differences between a database and a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifySummary {
    /// Submissions of the service.
    pub rows: u64,
    /// Submissions that were not stored; they are now.
    pub missing: u64,
    /// Stored submissions with other content; they are replaced.
    pub changed: u64,
    /// Submissions that were marked as deleted and that the service has; the mark is removed.
    pub restored: u64,
    /// Stored submissions that the service does not have, without those that were marked before.
    pub deleted: u64,
    /// Whether they are marked as deleted.
    pub is_marked: bool,
    /// Requests of pages, retries included.
    pub requests: u64,
    /// Whether the list of the service is complete.
    pub completeness: Completeness,
    /// The name of the form's view.
    pub view: String,
    /// The changes of the view and of its cells.
    pub changes: ViewChanges,
}

impl SyncStore {
    /// Reads every submission of a form, whatever the database has, and corrects the database. With
    /// [`mark_deleted`](VerifyOptions::mark_deleted), submissions that the service does not have get a
    /// time in `deleted_at`, and views and exports omit them. That needs a list that is proven
    /// complete; else the result is [`SyncError::NotProven`].
    pub async fn verify(
        &mut self,
        client: &Client,
        form: &FormId,
        options: &VerifyOptions,
        mut on_event: impl FnMut(SyncEvent<'_>),
    ) -> Result<VerifySummary, ExportError> {
        let mut store = self.open_form(client, form, None).await?;
        on_event(SyncEvent::Opened { view: store.view() });
        let verified = verify_form(client, form, options, &mut store, on_event).await;
        self.close_form(store).await;
        let summary = verified?;
        let VerifySummary { completeness, deleted, .. } = summary;
        if options.mark_deleted && completeness != Completeness::Proven {
            return Err(SyncError::NotProven { missing: deleted, completeness }.into());
        }
        Ok(summary)
    }
}

async fn verify_form(
    client: &Client,
    form: &FormId,
    options: &VerifyOptions,
    store: &mut FormStore,
    on_event: impl FnMut(SyncEvent<'_>),
) -> Result<VerifySummary, ExportError> {
    let started = unix_micros_now();
    let mut seen = SeenIds::new()?;
    let mut summary = read_all(client, form, options, store, &mut seen, on_event).await?;
    summary.is_marked = options.mark_deleted && summary.completeness == Completeness::Proven;
    let mut after = String::new();
    loop {
        // A row that another run stores meanwhile is not in the list, and is not deleted.
        let ids = store.ids_after(&after, started).await?;
        let Some(last) = ids.last() else { break };
        after.clone_from(last);
        let deleted = seen.without_seen(ids)?;
        summary.deleted += deleted.len() as u64;
        if summary.is_marked {
            store.mark_deleted(&deleted, started).await?;
        }
    }
    summary.view = store.view().to_owned();
    summary.changes = store.take_changes();
    Ok(summary)
}

/// Reads the whole list and stores the submissions that are missing or different.
async fn read_all(
    client: &Client,
    form: &FormId,
    options: &VerifyOptions,
    store: &mut FormStore,
    seen: &mut SeenIds,
    mut on_event: impl FnMut(SyncEvent<'_>),
) -> Result<VerifySummary, ExportError> {
    let query = client.form(form).submissions();
    let query = query.page_size(options.page_size).allow_incomplete(options.allow_incomplete);
    let (mut pages, mut summary) = (query.pages(), VerifySummary::default());
    while let Some(page) = next_page(&mut pages, options.deadline).await? {
        let rows = page.submissions();
        seen.add(rows.iter().map(|row| row.id.as_str()))?;
        // Coverage stays as it is: the next sync closes its gaps.
        let now = unix_micros_now();
        let page_to_write = PageToWrite { rows, interval: None, overflows: &[], now };
        let written = store.write_page(&page_to_write).await?;
        summary.rows += rows.len() as u64;
        summary.missing += written.new;
        summary.changed += written.replaced;
        summary.restored += written.restored;
        summary.requests += u64::from(page.meta().attempts());
        if let Some(last) = rows.last() {
            let reached = last.created_at.as_str();
            let progress = PullProgress { rows: summary.rows, new: summary.missing, reached };
            on_event(SyncEvent::Page(progress));
        }
    }
    summary.completeness = pages.completeness();
    Ok(summary)
}

/// The ids of a list, in a temporary database, because they could need more memory than there is.
struct SeenIds(Connection);

impl SeenIds {
    fn new() -> Result<Self, StoreError> {
        // SQLite deletes a database without a name when it is closed, also after a crash.
        let create = || {
            let database = Connection::open("")?;
            database.execute_batch("CREATE TABLE seen (id TEXT PRIMARY KEY) WITHOUT ROWID")?;
            Ok(Self(database))
        };
        create().map_err(temporary_error)
    }

    fn add<'a>(&mut self, ids: impl Iterator<Item = &'a str>) -> Result<(), StoreError> {
        let insert = || {
            let transaction = self.0.transaction()?;
            let mut insert =
                transaction.prepare_cached("INSERT OR IGNORE INTO seen VALUES (?1)")?;
            for id in ids {
                insert.execute([id])?;
            }
            drop(insert);
            transaction.commit()
        };
        insert().map_err(temporary_error)
    }

    fn without_seen(&self, mut ids: Vec<String>) -> Result<Vec<String>, StoreError> {
        let mut select = self
            .0
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM seen WHERE id = ?1)")
            .map_err(temporary_error)?;
        let mut failed = None;
        ids.retain(|id| {
            let is_seen = select.query_row(params![id], |row| row.get::<_, bool>(0));
            !is_seen.unwrap_or_else(|error| {
                failed = Some(error);
                true
            })
        });
        failed.map_or(Ok(ids), |error| Err(temporary_error(error)))
    }
}

fn temporary_error(error: rusqlite::Error) -> StoreError {
    StoreError::sqlite(Path::new("temporary database"), error)
}
