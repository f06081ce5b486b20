//! Compares the stored submissions of a form with all that the service has.

use std::path::PathBuf;

use formsvc_client::event::SkippedItem;
use formsvc_client::{Client, Completeness, FormId};

use super::SyncStore;
use crate::error::{ExportError, SyncError};
use crate::left_out::LeftOut;
use crate::pull::{PullOptions, PullProgress, unix_micros_now, until};
use crate::store::{Finished, FormStore, PageToWrite, SeenIds, ViewChanges, id_hash};

/// What to do with stored submissions that the service does not have. By default they stay.
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until they are passed to a call"]
pub struct VerifyOptions {
    mark_deleted: bool,
    purge_deleted: bool,
    allow_empty: bool,
}

impl VerifyOptions {
    /// Marks them as deleted: views and exports omit them.
    pub fn mark_deleted(self, mark_deleted: bool) -> Self {
        Self { mark_deleted, ..self }
    }

    /// Removes them and those that were marked before for good, with their answers. An SQLite file is
    /// rewritten without them, and so is its log, unless [`VerifySummary::log`] is set. PostgreSQL frees
    /// the space at its next `VACUUM`.
    pub fn purge_deleted(self, purge_deleted: bool) -> Self {
        Self { purge_deleted, ..self }
    }

    /// Marks or removes them also if the service has no submission at all.
    pub fn allow_empty(self, allow_empty: bool) -> Self {
        Self { allow_empty, ..self }
    }
}

/// The differences between a database and a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifySummary {
    /// Submissions of the service.
    pub rows: u64,
    /// Submissions that were not stored; they are now. Those that are newer than the time that the
    /// database covered are stored too, but do not count: the next sync would have found them.
    pub missing: u64,
    /// Stored submissions with other content; they are replaced.
    pub changed: u64,
    /// Submissions that were marked as deleted and that the service has; the mark is removed.
    pub restored: u64,
    /// Stored submissions that the service does not have, without those that were marked before.
    pub deleted: u64,
    /// Whether they are marked as deleted, or removed.
    pub is_marked: bool,
    /// Removed submissions, those that were marked before included.
    pub purged: u64,
    /// Requests of pages, retries included.
    pub requests: u64,
    /// Whether the list of the service is complete.
    pub completeness: Completeness,
    /// The submissions that the comparison leaves out.
    pub left_out: LeftOut,
    /// The changes of the view and of its cells.
    pub changes: ViewChanges,
    /// The write-ahead log: see [`SyncSummary::log`](super::SyncSummary::log).
    pub log: Option<PathBuf>,
}

impl SyncStore {
    /// Reads every submission of a form, whatever the database has, and corrects the database.
    ///
    /// To [mark](VerifyOptions::mark_deleted) or to [remove](VerifyOptions::purge_deleted) submissions
    /// that the service does not have, the list must be proven complete; else the result is
    /// [`SyncError::NotProven`]. An empty list is refused with [`SyncError::EmptyList`], because a fault of
    /// the service could hide every submission.
    ///
    /// `pull` sets how to request pages; its range and limit do not apply.
    pub async fn verify(
        &self,
        client: &Client,
        form: &FormId,
        pull: &PullOptions,
        options: &VerifyOptions,
        on_page: impl FnMut(PullProgress<'_>),
    ) -> Result<VerifySummary, ExportError> {
        let deadline = pull.deadline();
        let run = async {
            let mut store = self.open_form(client, form, None, deadline).await?;
            let started = unix_micros_now();
            let coverage = store.write_page(PageToWrite::default()).await?.coverage;
            let covered_until = coverage.intervals().first().map_or(i64::MIN, |part| part.newest);
            let read = read_all(client, form, pull, &mut store, covered_until, on_page).await?;
            let (mut summary, seen) = read;
            // A row that another run stores meanwhile is not in the list, and is not deleted.
            let deleted = store.ids_without(seen, started).await?;
            summary.deleted = deleted.len() as u64;
            if options.mark_deleted || options.purge_deleted {
                let VerifySummary { completeness, deleted: missing, .. } = summary;
                if completeness != Completeness::Proven {
                    return Err(SyncError::NotProven { missing, completeness }.into());
                }
                let has_change = missing > 0 || options.purge_deleted;
                if summary.rows == 0 && has_change && !options.allow_empty {
                    return Err(SyncError::EmptyList(missing).into());
                }
                store.mark_deleted(deleted, started).await?;
                summary.is_marked = true;
            }
            // A fault of the service could cause an empty list. A list that is not empty contains every
            // submission of the times that were covered before.
            if summary.completeness == Completeness::Proven && summary.rows > 0 {
                store.set_proven(covered_until).await?;
            }
            if options.purge_deleted {
                summary.purged = store.purge_deleted().await?;
            }
            let Finished { changes, log, .. } = store.finish().await?;
            (summary.changes, summary.log) = (changes, log);
            Ok(summary)
        };
        until(deadline, run).await
    }
}

/// Reads the whole list and stores the submissions that are missing or different. Those after
/// `covered_until` do not count as missing.
async fn read_all(
    client: &Client,
    form: &FormId,
    pull: &PullOptions,
    store: &mut FormStore,
    covered_until: i64,
    mut on_page: impl FnMut(PullProgress<'_>),
) -> Result<(VerifySummary, SeenIds), ExportError> {
    let (mut pages, mut summary) = (pull.query(client, form).pages(), VerifySummary::default());
    let (mut seen, mut new) = (SeenIds::default(), 0);
    while let Some(page) = pages.try_next().await? {
        let rows = page.submissions();
        seen.extend(rows.iter().map(|row| id_hash(row.id.as_str())));
        // The service has them, also if they cannot be stored.
        seen.extend(page.skipped().iter().filter_map(SkippedItem::id).map(id_hash));
        summary.rows += rows.len() as u64;
        summary.requests += u64::from(page.meta().attempts());
        let last = rows.last().map(|last| last.created_at.clone());
        let is_covered: Vec<bool> =
            rows.iter().map(|row| row.created_at.unix_micros() <= covered_until).collect();
        // Coverage stays as it is: the next sync closes its gaps.
        let (rows, now) = (page.into_submissions(), unix_micros_now());
        let written = store.write_page(PageToWrite { rows, now, ..PageToWrite::default() }).await?;
        new += written.new.len() as u64;
        summary.missing += written.new.iter().filter(|index| is_covered[**index]).count() as u64;
        summary.changed += written.replaced;
        summary.restored += written.restored;
        if let Some(reached) = &last {
            on_page(PullProgress { rows: summary.rows, new, reached });
        }
    }
    summary.completeness = pages.completeness_so_far();
    summary.left_out = LeftOut::of_pages(&pages);
    Ok((summary, seen))
}
