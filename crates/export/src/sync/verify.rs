//! Compares the stored submissions of a form with all that the service has.

use formsvc_client::{Client, Completeness, FormId};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::error::SyncError;
use super::form_store::FormStore;
use super::{SyncEvent, SyncStore, ViewChanges};
use crate::error::ExportError;
use crate::pull::{PullProgress, next_page, unix_micros_now};
use crate::store::PageToWrite;

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
    let mut seen = SeenIds::default();
    let mut summary = read_all(client, form, options, store, &mut seen, on_event).await?;
    seen.sort();
    summary.is_marked = options.mark_deleted && summary.completeness == Completeness::Proven;
    let mut after = String::new();
    loop {
        // A row that another run stores meanwhile is not in the list, and is not deleted.
        let mut ids = store.ids_after(&after, started).await?;
        let Some(last) = ids.last() else { break };
        after.clone_from(last);
        ids.retain(|id| !seen.contains(id));
        summary.deleted += ids.len() as u64;
        if summary.is_marked {
            store.mark_deleted(&ids, started).await?;
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
        for row in rows {
            seen.add(row.id.as_str());
        }
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

/// Hashes of the ids of a list, 16 bytes each. They are searched after [`sort`](Self::sort).
#[derive(Default)]
struct SeenIds(Vec<[u8; 16]>);

impl SeenIds {
    fn add(&mut self, id: &str) {
        self.0.push(Self::hash(id));
    }

    fn sort(&mut self) {
        self.0.sort_unstable();
    }

    fn contains(&self, id: &str) -> bool {
        self.0.binary_search(&Self::hash(id)).is_ok()
    }

    fn hash(id: &str) -> [u8; 16] {
        let hash = Sha256::digest(id);
        std::array::from_fn(|at| hash[at])
    }
}
