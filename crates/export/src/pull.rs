//! Pulls the submissions of a form into a row store.

use std::time::SystemTime;

use formsvc_client::{Client, Completeness, FormId, ResumeToken, SubmissionPage, SubmissionPages};
use tokio::time::{Instant, timeout_at};

use crate::coverage::{AfterPage, Coverage, PageTimes, WalkRange, next_gap};
use crate::error::ExportError;
use crate::store::{PageToWrite, PageWritten, RowRange, RowStore, SourceKey};
use crate::sync::FormStore;

/// Which submissions to pull, and how.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PullOptions {
    /// The oldest wanted time, in microseconds since 1970.
    pub since: i64,
    /// The end of the wanted times. Newer submissions are pulled all the same, because lists begin at
    /// the newest; the end counts for `limit` only.
    pub until: i64,
    /// Stops when this many wanted submissions are stored.
    pub limit: Option<u64>,
    /// Submissions per request.
    pub page_size: u32,
    /// Continues where more submissions share a unit of the service's cursor than a page can show.
    pub allow_incomplete: bool,
    /// Stops at this time.
    pub deadline: Option<Instant>,
}

impl Default for PullOptions {
    fn default() -> Self {
        Self {
            since: i64::MIN,
            until: i64::MAX,
            limit: None,
            page_size: formsvc_client::PAGE_SIZE_MAX,
            allow_incomplete: false,
            deadline: None,
        }
    }
}

/// The state of a pull after a page.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PullProgress<'a> {
    /// Submissions of the form that are stored.
    pub rows: u64,
    /// How many of them are new since the start of this pull.
    pub new: u64,
    /// `created_at` of the last submission of the page.
    pub reached: &'a str,
}

/// The effect of a pull.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct PullSummary {
    /// Submissions of the form that are stored.
    pub rows: u64,
    /// New submissions.
    pub new: u64,
    /// Known submissions that came back with other content.
    pub replaced: u64,
    /// Requests of pages, retries included.
    pub requests: u64,
    /// Whether all submissions of the wanted times are stored.
    pub completeness: Completeness,
    /// Descriptions of the units of the service's cursor of which submissions may be missing.
    pub overflows: Vec<String>,
}

/// Pulls the submissions of a form that the store does not have: reads from the newest down to the
/// stored ones, then closes the gaps below, newest first. Each page is stored before the next is
/// requested. A dropped future or an error loses at most the page in flight, and the next pull continues
/// there.
///
/// `source` must be the key of this form and of the client's service.
pub async fn pull(
    client: &Client,
    form: &FormId,
    store: &mut RowStore,
    source: SourceKey,
    options: &PullOptions,
    on_progress: impl FnMut(PullProgress<'_>),
) -> Result<PullSummary, ExportError> {
    let store = PageStore::Rows { store, source };
    pull_into(client, form, store, options, on_progress).await
}

/// Pulls the submissions of a form into any store: see [`pull`].
pub(crate) async fn pull_into(
    client: &Client,
    form: &FormId,
    mut store: PageStore<'_>,
    options: &PullOptions,
    on_progress: impl FnMut(PullProgress<'_>),
) -> Result<PullSummary, ExportError> {
    let rows = store.total().await?;
    let summary = PullSummary { rows, ..Default::default() };
    let mut run =
        Pull { client, form, store, options, on_progress, summary, coverage: Coverage::default() };
    let mut walk = WalkRange::from_newest();
    let mut pages = run.pages(None);
    // A pull that started with the newest row ends each walk by an interval that reaches further down.
    while let Some(coverage) = run.read(&mut walk, &mut pages).await? {
        let Some(gap) = next_gap(&coverage, options.since) else { break };
        if run.has_enough(gap.oldest).await? {
            break;
        }
        walk = WalkRange::below(gap);
        // The token was checked when the store read it.
        pages = run.pages(gap.resume.parse().ok());
    }
    let Pull { mut store, mut summary, coverage, .. } = run;
    let stored = coverage.intervals().first().map(|newest| newest.completeness);
    summary.completeness = summary.completeness.max(stored.unwrap_or_default());
    summary.overflows = store.overflows().await?;
    Ok(summary)
}

const ALL: RowRange = RowRange { since: i64::MIN, until: i64::MAX, include_deleted: true };

/// The store of a form's submissions that pages are written to.
pub(crate) enum PageStore<'a> {
    /// Submissions without cells.
    Rows { store: &'a mut RowStore, source: SourceKey },
    /// Submissions with cells, labels and a view.
    Form(&'a mut FormStore),
}

impl PageStore<'_> {
    async fn write_page(&mut self, page: &PageToWrite<'_>) -> Result<PageWritten, ExportError> {
        match self {
            Self::Rows { store, source } => Ok(store.write_page(*source, page)?),
            Self::Form(store) => Ok(store.write_page(page).await?),
        }
    }

    async fn count(&mut self, range: RowRange, max: u64) -> Result<u64, ExportError> {
        match self {
            Self::Rows { store, source } => Ok(store.count(*source, range, max)?),
            Self::Form(store) => Ok(store.count(range, max).await?),
        }
    }

    /// Returns the number of stored submissions.
    async fn total(&mut self) -> Result<u64, ExportError> {
        match self {
            Self::Rows { store, source } => Ok(store.count(*source, ALL, u64::MAX)?),
            Self::Form(store) => Ok(store.rows().await?),
        }
    }

    async fn overflows(&mut self) -> Result<Vec<String>, ExportError> {
        match self {
            Self::Rows { store, source } => Ok(store.overflows(*source)?),
            Self::Form(store) => Ok(store.overflows().await?),
        }
    }
}

struct Pull<'a, F> {
    client: &'a Client,
    form: &'a FormId,
    store: PageStore<'a>,
    options: &'a PullOptions,
    on_progress: F,
    summary: PullSummary,
    /// The coverage after the last page.
    coverage: Coverage,
}

impl<F: FnMut(PullProgress<'_>)> Pull<'_, F> {
    fn pages(&self, token: Option<ResumeToken>) -> SubmissionPages {
        let query = self.client.form(self.form).submissions();
        let query =
            query.page_size(self.options.page_size).allow_incomplete(self.options.allow_incomplete);
        match token {
            Some(token) => query.resume_from(token).pages(),
            None => query.pages(),
        }
    }

    /// Reads the pages of a walk until it meets a stored interval, and returns the coverage; `None` if
    /// nothing is left to read.
    async fn read(
        &mut self,
        walk: &mut WalkRange,
        pages: &mut SubmissionPages,
    ) -> Result<Option<Coverage>, ExportError> {
        loop {
            let page = next_page(pages, self.options.deadline).await?;
            self.store_page(walk, pages, page.as_ref()).await?;
            match walk.after_page(&self.coverage, self.options.since) {
                AfterPage::Reached => return Ok(None),
                AfterPage::Joined => return Ok(Some(self.coverage.clone())),
                AfterPage::Continue if self.has_enough(walk.oldest()).await? => return Ok(None),
                AfterPage::Continue => {}
            }
        }
    }

    /// Stores a page, or the end of the list.
    async fn store_page(
        &mut self,
        walk: &mut WalkRange,
        pages: &SubmissionPages,
        page: Option<&SubmissionPage>,
    ) -> Result<(), ExportError> {
        let rows = page.map_or(&[][..], SubmissionPage::submissions);
        let (now, token) = (unix_micros_now(), pages.resume_token());
        let time = |row: &formsvc_client::Submission| row.created_at.unix_micros();
        let first_and_last = rows.first().zip(rows.last()).map(|(f, l)| (time(f), time(l)));
        walk.extend(PageTimes { first_and_last, is_last: token.is_finished() }, now);
        let completeness = pages.completeness();
        let interval = Some(walk.interval(token.to_string(), completeness));
        let overflows = pages.tie_overflows();
        let page_to_write = PageToWrite { rows, interval, overflows, now };
        let written = self.store.write_page(&page_to_write).await?;
        self.coverage = written.coverage;
        let summary = &mut self.summary;
        summary.rows += written.new;
        summary.new += written.new;
        summary.replaced += written.replaced;
        summary.requests += page.map_or(0, |page| page.meta().attempts().into());
        summary.completeness = summary.completeness.max(completeness);
        if let Some(last) = rows.last() {
            let (rows, new) = (summary.rows, summary.new);
            (self.on_progress)(PullProgress { rows, new, reached: last.created_at.as_str() });
        }
        Ok(())
    }

    /// Whether the wanted number of submissions is stored. Those that are older than `oldest` do not
    /// count: newer ones than they could be missing.
    async fn has_enough(&mut self, oldest: i64) -> Result<bool, ExportError> {
        let Some(limit) = self.options.limit else { return Ok(false) };
        let since = oldest.max(self.options.since);
        let range = RowRange { since, until: self.options.until, include_deleted: false };
        Ok(self.store.count(range, limit).await? >= limit)
    }
}

/// Requests the next page; `None` at the end of the list.
pub(crate) async fn next_page(
    pages: &mut SubmissionPages,
    deadline: Option<Instant>,
) -> Result<Option<SubmissionPage>, ExportError> {
    let Some(deadline) = deadline else { return Ok(pages.try_next().await?) };
    match timeout_at(deadline, pages.try_next()).await {
        Ok(page) => Ok(page?),
        Err(_) => Err(ExportError::TimeLimit),
    }
}

pub(crate) fn unix_micros_now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
