//! Pulls the submissions of a form into a row store.

use std::time::{Duration, SystemTime};

use formsvc_client::list::SubmissionPages;
use formsvc_client::{
    Client, Completeness, FormId, PAGE_SIZE_MAX, Submission, SubmissionPage, SubmissionQuery,
    Timestamp,
};
use tokio::time::{Instant, timeout_at};

use crate::coverage::{AfterPage, Coverage, WalkRange, timestamp};
use crate::error::ExportError;
use crate::left_out::LeftOut;
use crate::store::{FormStore, PageToWrite, RowRange};

/// Which submissions to pull, and how. By default all.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct PullOptions {
    pub(crate) range: RowRange,
    limit: Option<u64>,
    page_size: Option<u32>,
    pub(crate) allow_incomplete: bool,
    time_limit: Option<Duration>,
}

impl PullOptions {
    /// Sets the oldest wanted time.
    pub fn since(self, time: impl Into<Option<Timestamp>>) -> Self {
        Self { range: self.range.since(time), ..self }
    }

    /// Sets the end of the wanted times. Submissions at this time or later are stored all the same, because
    /// lists begin at the newest, but they do not count for the limit.
    pub fn until(self, time: impl Into<Option<Timestamp>>) -> Self {
        Self { range: self.range.until(time), ..self }
    }

    /// Stops when this many wanted submissions are stored.
    pub fn limit(self, rows: impl Into<Option<u64>>) -> Self {
        Self { limit: rows.into(), ..self }
    }

    /// Sets the submissions per request: see [`SubmissionQuery::page_size`].
    pub fn page_size(self, rows: u32) -> Self {
        Self { page_size: Some(rows), ..self }
    }

    /// Continues where submissions have to be left out, instead of ending with an error: see
    /// [`SubmissionQuery::allow_incomplete`].
    pub fn allow_incomplete(self, allow: bool) -> Self {
        Self { allow_incomplete: allow, ..self }
    }

    /// Stops after this time with [`ExportError::TimeLimit`].
    pub fn time_limit(self, limit: impl Into<Option<Duration>>) -> Self {
        Self { time_limit: limit.into(), ..self }
    }

    /// Returns the end of the time limit of a run that begins now.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        Instant::now().checked_add(self.time_limit?)
    }

    pub(crate) fn rows_per_page(&self) -> u32 {
        self.page_size.unwrap_or(PAGE_SIZE_MAX)
    }

    /// Returns a list of all submissions of a form.
    pub(crate) fn query(&self, client: &Client, form: &FormId) -> SubmissionQuery {
        let query = client.form(form).submissions();
        query.page_size(self.rows_per_page()).allow_incomplete(self.allow_incomplete)
    }

    /// Returns a list of the submissions of the wanted times.
    pub(crate) fn bounded_query(&self, client: &Client, form: &FormId) -> SubmissionQuery {
        let mut query = self.query(client, form);
        if let Some(since) = timestamp(self.range.since) {
            query = query.since(since);
        }
        match timestamp(self.range.until) {
            Some(until) => query.until(until),
            None => query,
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
    /// The time of the last submission of the page.
    pub reached: &'a Timestamp,
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
    /// The submissions that are or could be missing.
    pub left_out: LeftOut,
}

/// Pulls the submissions of a form that the store does not have: reads from the newest down to the
/// stored ones, then closes the gaps below, newest first. While a page is stored, the next one is requested,
/// unless the page may be the last. After an error, a dropped future or a kill, the next pull requests the
/// newest page and at most two pages again, then continues.
pub(crate) async fn pull(
    client: &Client,
    form: &FormId,
    store: &mut FormStore,
    options: &PullOptions,
    mut on_progress: impl FnMut(PullProgress<'_>),
) -> Result<PullSummary, ExportError> {
    let mut summary = PullSummary { rows: store.total().await?, ..PullSummary::default() };
    let (mut walk, mut pages) = (WalkRange::from_newest(), options.query(client, form).pages());
    let since = options.range.since;
    let mut limit = Limit::new(options);
    // The coverage after the last page; unknown before the first one.
    let mut coverage: Option<Coverage> = None;
    let mut page = pages.try_next().await?;
    let newest = loop {
        summary.requests += page.as_ref().map_or(0, |page| page.meta().attempts().into());
        summary.completeness = summary.completeness.max(pages.completeness_so_far());
        let page_to_write = page_to_write(page, &mut walk, &pages);
        let may_be_last = coverage.is_none_or(|mut expected| {
            if let Some(interval) = &page_to_write.interval {
                expected.add(interval.clone());
            }
            walk.after_page(&expected, since) != AfterPage::Continue
        });
        let last = page_to_write.rows.last().map(|row| row.created_at.clone());
        let write = async {
            let written = store.write_page(page_to_write).await?;
            let new = written.new.len() as u64;
            summary.rows += new + written.restored;
            summary.new += new;
            summary.replaced += written.replaced;
            if let Some(reached) = &last {
                let (rows, new) = (summary.rows, summary.new);
                on_progress(PullProgress { rows, new, reached });
            }
            Ok::<_, ExportError>(written)
        };
        let (written, next) = if may_be_last || limit.may_be_reached() {
            (write.await?, None)
        } else {
            // A failed write ends the request; a failed request lets the write end.
            let request = async { Ok(Some(pages.try_next().await)) };
            tokio::try_join!(write, request)?
        };
        let after = walk.after_page(&written.coverage, since);
        let newest = written.coverage.intervals().first().map(|newest| newest.completeness);
        coverage = Some(written.coverage);
        if after == AfterPage::Finished {
            break newest;
        }
        let continues = after == AfterPage::Continue;
        if let AfterPage::Below(interval) = after {
            walk = WalkRange::below(&interval);
            let query = options.query(client, form);
            // A stored token was checked when it was read.
            pages = match interval.resume.parse() {
                Ok(token) => query.resume_from(token).pages(),
                Err(_) => query.pages(),
            };
        }
        if limit.is_reached(store, walk.oldest).await? {
            break newest;
        }
        page = match next {
            Some(next) if continues => next?,
            _ => pages.try_next().await?,
        };
    };
    summary.completeness = summary.completeness.max(newest.unwrap_or_default());
    summary.rows = store.total().await?;
    summary.left_out = store.left_out().await?;
    Ok(summary)
}

/// Extends the walk by the rows of a page, or by the end of the list.
fn page_to_write(
    page: Option<SubmissionPage>,
    walk: &mut WalkRange,
    pages: &SubmissionPages,
) -> PageToWrite {
    let (now, token) = (unix_micros_now(), pages.resume_token());
    let read_at = pages.first_read_at().map_or(i64::MIN, |time| time.unix_micros());
    let skipped = page.as_ref().map_or(&[][..], SubmissionPage::skipped).to_vec();
    let rows = page.map_or_else(Vec::new, SubmissionPage::into_submissions);
    let time = |row: &Submission| row.created_at.unix_micros();
    let times = rows.first().zip(rows.last()).map(|(first, last)| (time(first), time(last)));
    walk.extend(times, token.is_finished(), read_at);
    let interval = Some(walk.interval(token.to_string(), pages.completeness_so_far()));
    PageToWrite { rows, interval, skipped, overflows: pages.tie_overflows().to_vec(), now }
}

/// The wanted number of submissions. Each part of the list is counted once.
struct Limit {
    rows: Option<u64>,
    /// Submissions of a page at most.
    page_size: u64,
    /// The wanted times.
    range: RowRange,
    /// Stored submissions of the wanted times down to `counted_to`.
    counted: u64,
    counted_to: i64,
}

impl Limit {
    fn new(options: &PullOptions) -> Self {
        Self {
            rows: options.limit,
            page_size: options.rows_per_page().into(),
            range: options.range,
            counted: 0,
            counted_to: i64::MAX,
        }
    }

    /// Returns true if the limit may be reached when the current page is stored. The page before it may have
    /// submissions of its last second that are not counted yet.
    fn may_be_reached(&self) -> bool {
        self.rows.is_some_and(|rows| self.counted + 2 * self.page_size >= rows)
    }

    /// Returns true if the wanted number of submissions is stored. Those that are older than `oldest` do not
    /// count: newer ones than they could be missing.
    async fn is_reached(
        &mut self,
        store: &mut FormStore,
        oldest: i64,
    ) -> Result<bool, ExportError> {
        let Some(rows) = self.rows else { return Ok(false) };
        let since = oldest.max(self.range.since);
        let range = RowRange { since, until: self.counted_to.min(self.range.until), ..self.range };
        self.counted += store.count(range, u64::MAX).await?;
        self.counted_to = self.counted_to.min(oldest);
        Ok(self.counted >= rows)
    }
}

/// Ends a run at its deadline.
pub(crate) async fn until<T>(
    deadline: Option<Instant>,
    run: impl Future<Output = Result<T, ExportError>>,
) -> Result<T, ExportError> {
    match deadline {
        Some(deadline) => timeout_at(deadline, run).await.unwrap_or(Err(ExportError::TimeLimit)),
        None => run.await,
    }
}

pub(crate) fn unix_micros_now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}
