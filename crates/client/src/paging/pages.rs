//! The submissions of a list, page by page.

use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::{SystemTime, UNIX_EPOCH};

use formsvc_protocol::{FormId, Timestamp};

use super::page::{PageEnd, RawPage};
use super::report::{item_error, refuses_cursor, walk_error};
use super::walk::{NextStep, PagingError, PagingWarning, Walk, WalkRow};
use super::{PollItem, ResumeToken, SubmissionPage, SubmissionQuery};
use crate::ResponseMeta;
use crate::completeness::{Completeness, TieOverflow};
use crate::error::Error;
use crate::event::{ClientEvent, SkippedItem};
use crate::transport::BoxFuture;

/// Maximum number of skipped items that a list describes.
const MAX_SKIPPED_DESCRIBED: usize = 100;

const SECOND: i64 = 1_000_000;

pub(super) type Fetched = Result<(RawPage, ResponseMeta), Error>;

/// The pages of a list: an owned, fused stream, `Send`, `Sync` and `Unpin`. Created by
/// [`SubmissionQuery::pages`].
///
/// Empty pages are yielded too. The stream ends after an error; its
/// [`resume_token`](Self::resume_token) stays valid. Dropping the stream cancels the request in
/// flight.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut pages = client.form("frm_1").submissions().pages();
/// while let Some(page) = pages.try_next().await? {
///     for submission in &page {
///         println!("{} {}", submission.id, submission.created_at);
///     }
///     println!("resume token: {}", pages.resume_token());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct SubmissionPages {
    query: SubmissionQuery,
    pages_left: Option<u64>,
    walk: Walk,
    /// The position after the pages so far.
    token: ResumeToken,
    /// The position before the last page.
    before: ResumeToken,
    /// The position before the last page, with the rows of that page as yielded.
    reread: ResumeToken,
    /// When the first page was read, in microseconds since 1970; `None` before.
    first_read_at: Option<i64>,
    /// The request in flight. The lock is never contended: it makes a future that is only `Send`
    /// part of a stream that is `Sync`.
    request: Option<Mutex<BoxFuture<'static, Fetched>>>,
    /// Number of pages so far.
    page_number: u64,
    /// The first items that were skipped, and the number of all.
    skipped: Vec<SkippedItem>,
    skipped_count: u64,
    /// The error to yield next.
    error: Option<Error>,
    done: bool,
    /// Whether the list ended as its settings require, and not by an error.
    finished: bool,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

impl SubmissionPages {
    pub(super) fn new(query: SubmissionQuery) -> Self {
        let (walk, error) = match query.walk() {
            Ok(walk) => (walk, None),
            Err(error) => (None, Some(error)),
        };
        #[cfg(feature = "tracing")]
        let span = query.span();
        let is_at_end = walk.is_none() || query.max_pages == Some(0);
        let token = query.first_token();
        Self {
            pages_left: query.max_pages,
            finished: error.is_none() && is_at_end,
            #[cfg(feature = "tracing")]
            span,
            query,
            before: token.clone(),
            reread: token.clone(),
            token,
            first_read_at: None,
            request: None,
            page_number: 0,
            skipped: Vec::new(),
            skipped_count: 0,
            done: is_at_end,
            walk: walk.unwrap_or_else(|| Walk::new(None)),
            error,
        }
    }

    /// Returns whether a submission can be missing in the list, including the pages before a resume; `None`
    /// until the list [is finished](Self::is_finished).
    pub fn completeness(&self) -> Option<Completeness> {
        self.is_finished().then(|| self.completeness_so_far())
    }

    /// Returns true when the list has ended: with the oldest submission, or as `since`, `stop_when` or
    /// `max_pages` require. False before, and for ever after an error.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Returns whether a submission can be missing between the first and the last one that were read,
    /// including the pages before a resume. Submissions after the last one are not considered.
    pub fn completeness_so_far(&self) -> Completeness {
        let completeness = self.walk.completeness().max(self.query.completeness_before());
        if self.skipped_count > 0 { Completeness::Incomplete } else { completeness }
    }

    /// Returns the seconds or milliseconds of which submissions may be missing, newest first; empty unless
    /// [`allow_incomplete`](SubmissionQuery::allow_incomplete) is set.
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.walk.tie_overflows()
    }

    /// Returns the time at which the service read the first page, or an earlier one, in whole seconds; `None`
    /// before that page. It is the `Date` of the response, by the clock of the service, or the local clock if
    /// there is no `Date`, minus the duration of the call. A submission that was committed before
    /// that time is in the list.
    pub fn first_read_at(&self) -> Option<Timestamp> {
        Timestamp::from_unix_nanos(i128::from(self.first_read_at?) * 1_000)
    }

    /// Returns the first 100 submissions that were left out because they violate the API;
    /// empty unless [`allow_incomplete`](SubmissionQuery::allow_incomplete) is set. Those of one page are
    /// [`SubmissionPage::skipped`].
    pub fn skipped(&self) -> &[SkippedItem] {
        &self.skipped
    }

    /// Returns the number of submissions that were left out because they violate the API.
    pub fn skipped_count(&self) -> u64 {
        self.skipped_count
    }

    /// Returns the position after the pages yielded so far; valid at any time, also after an error.
    pub fn resume_token(&self) -> ResumeToken {
        self.token.clone()
    }

    /// Returns the position in the last page after the given rows.
    pub(super) fn token_within_page(&self, passed: &[WalkRow]) -> ResumeToken {
        self.before.with_rows(passed, self.completeness_so_far())
    }

    /// Returns true if an error cuts the last page short: a row that is newer than the one before it, or
    /// one that violates the API.
    pub(super) fn is_cut_short(&self) -> bool {
        self.error.as_ref().is_some_and(|error| error.json_path().is_some())
    }

    pub(super) fn is_done(&self) -> bool {
        self.done && self.error.is_none()
    }

    pub(super) fn poll_page(&mut self, cx: &mut Context<'_>) -> PollItem<SubmissionPage> {
        #[cfg(feature = "tracing")]
        let _entered = self.span.clone().entered();
        loop {
            if let Some(error) = self.error.take() {
                self.done = true;
                return Poll::Ready(Some(Err(error)));
            }
            if self.done {
                return Poll::Ready(None);
            }
            // Taken out, so that a request that panics is dropped.
            let mut request =
                self.request.take().unwrap_or_else(|| Mutex::new(self.query.request(&self.walk)));
            let future = request.get_mut().expect("the lock is never taken");
            let Poll::Ready(fetched) = future.as_mut().poll(cx) else {
                self.request = Some(request);
                return Poll::Pending;
            };
            match fetched {
                Ok((page, meta)) => {
                    if let Some(page) = self.accept(page, meta) {
                        return Poll::Ready(Some(Ok(page)));
                    }
                }
                Err(error) if self.retries_refused(&error) => {}
                Err(error) => {
                    // The service refused the cursor that it issued: another one may lead on.
                    if refuses_cursor(&error) {
                        self.token = self.reread.clone();
                    }
                    self.error = Some(error);
                }
            }
        }
    }

    /// Returns true if the service refused a cursor that the walk made. The request is then repeated
    /// with another cursor.
    fn retries_refused(&mut self, error: &Error) -> bool {
        self.walk.refused(error).is_some_and(|outcome| {
            self.warn(outcome.warning);
            true
        })
    }

    fn warn(&self, warning: Option<PagingWarning>) {
        if let Some(warning) = warning.filter(|_| !self.query.is_warned) {
            self.report(&warning.into_event(self.form()));
        }
    }

    /// Returns true if the walk has reported that submissions can be missing.
    pub(super) fn has_warned(&self) -> bool {
        self.walk.completeness() != Completeness::Proven
    }

    fn report(&self, event: &ClientEvent) {
        self.query.client.shared.emit(event);
    }

    fn form(&self) -> Option<FormId> {
        self.query.form_id().ok().cloned()
    }

    /// Returns the page to yield. `None` discards it: it is requested again with another cursor, or it
    /// has a tie overflow, which is the next error.
    ///
    /// If a callback of the caller panics, the list has ended before this page.
    fn accept(&mut self, page: RawPage, meta: ResponseMeta) -> Option<SubmissionPage> {
        self.done = true;
        let page = self.accept_page(page, meta);
        self.done = self.finished;
        page
    }

    fn accept_page(&mut self, page: RawPage, meta: ResponseMeta) -> Option<SubmissionPage> {
        let clock = &self.query.client.shared.settings.clock;
        self.first_read_at.get_or_insert_with(|| read_at(&meta, clock()));
        let rows = page.walk_rows(self.walk.position().oldest);
        let outcome = self.walk.accept_rows(&rows, page.pagination());
        let next = outcome.next;
        self.warn(outcome.warning);
        if next == NextStep::Retry {
            return None;
        }
        self.report(&ClientEvent::PageFetched {
            form: self.form(),
            request_id: meta.request_id().map(str::to_owned),
            rows: outcome.new_rows.len(),
            duplicates: outcome.duplicates,
            bytes: page.body_len(),
            has_more: page.pagination().has_more,
            elapsed: meta.elapsed(),
        });
        if let NextStep::Failed(overflow @ PagingError::TieOverflow(_)) = next {
            self.error = Some(walk_error(overflow, &meta));
            return None;
        }
        let SubmissionQuery { bounds, allow_incomplete, .. } = &self.query;
        let (mut page, end) = page.into_page(&rows, &outcome, meta, bounds, *allow_incomplete);
        self.pages_left = self.pages_left.map(|left| left - 1);
        self.page_number += 1;
        self.record_skipped(page.skipped());
        let completeness = self.completeness_so_far();
        self.before = self.token.clone();
        self.reread = self.before.with_rows(&page.all_passed(), completeness);
        let after = |state| ResumeToken::new(self.query.list(), state, completeness);
        self.token = match (&end, next) {
            (None, NextStep::Continue | NextStep::Retry) => after(Some(self.walk.state())),
            (None, NextStep::Finished) => after(None),
            // The list ends within the page, or cannot continue after it.
            (Some(_), _) | (None, NextStep::Failed(_)) => self.reread.clone(),
        };
        self.error = match (&end, next) {
            (Some(PageEnd::InvalidItem(item)), _) => {
                let cursor = self.walk.last_cursor();
                Some(item_error(item, self.page_number, cursor, page.meta()))
            }
            (None, NextStep::Failed(error)) => Some(walk_error(error, page.meta())),
            _ => None,
        };
        let is_last = end == Some(PageEnd::Bounds)
            || next == NextStep::Finished
            || self.pages_left == Some(0);
        self.finished = is_last && self.error.is_none();
        page.set_token(self.resume_token());
        Some(page)
    }

    fn record_skipped(&mut self, items: &[SkippedItem]) {
        self.skipped_count += items.len() as u64;
        let left = MAX_SKIPPED_DESCRIBED - self.skipped.len();
        self.skipped.extend(items.iter().take(left).cloned());
    }
}

/// Returns the time at which the service read the content of a response, or an earlier one: a whole second,
/// in microseconds since 1970. `now` is the local clock.
fn read_at(meta: &ResponseMeta, now: SystemTime) -> i64 {
    let local = || {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_micros();
        i64::try_from(now).unwrap_or(i64::MAX)
    };
    // The service sets `Date` after it has read the content.
    let elapsed = i64::try_from(meta.elapsed().as_micros()).unwrap_or(i64::MAX);
    let read_at = meta.date().map_or_else(local, |date| date.unix_micros()).saturating_sub(elapsed);
    read_at.saturating_sub(read_at.rem_euclid(SECOND))
}

list_stream!(SubmissionPages, poll_page, SubmissionPage);

impl std::fmt::Debug for SubmissionPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubmissionPages").field("query", &self.query).finish_non_exhaustive()
    }
}
