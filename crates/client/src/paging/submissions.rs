//! The submissions of a list, one by one.

use std::task::{Context, Poll, ready};
use std::vec;

use formsvc_protocol::{Submission, Timestamp};

use super::page::PassedRows;
use super::{ResumeToken, SubmissionPage, SubmissionPages};
use crate::completeness::{Completeness, TieOverflow};
use crate::error::{Error, ErrorKind};
use crate::operation::SUBMISSIONS;
use crate::skipped_item::SkippedItem;

/// The submissions of a list: an owned, fused stream, `Send`, `Sync` and `Unpin`. Created by
/// [`SubmissionQuery::items`](super::SubmissionQuery::items).
///
/// Every id is yielded once, or the stream ends with an error. This holds if the service lists newest first and
/// gives an id one time and one content. The [`resume_token`](Self::resume_token) stays valid after an error.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut items = client.form("frm_1").submissions().items();
/// while let Some(submission) = items.try_next().await? {
///     println!("{}", submission.data.as_json());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct Submissions {
    pages: SubmissionPages,
    /// Rows of the current page that are not yielded yet.
    rows: vec::IntoIter<Submission>,
    /// Rows of the current page before them.
    passed: PassedRows,
}

impl Submissions {
    pub(super) fn new(pages: SubmissionPages) -> Self {
        Self { pages, rows: vec::IntoIter::default(), passed: PassedRows::default() }
    }

    /// Returns the rest of the list if it has at most `max` submissions. All of them are in memory
    /// at once, so there is no version without a limit.
    ///
    /// A longer list is an [`ErrorKind::TooLarge`]. After an error the submissions read so far are
    /// dropped; the stream continues after them.
    pub async fn try_collect_max(&mut self, max: usize) -> Result<Vec<Submission>, Error> {
        let mut all = Vec::new();
        while std::future::poll_fn(|cx| self.poll_ready(cx)).await? {
            if all.len() == max {
                return Err(more_than(max));
            }
            all.extend(self.take_ready());
        }
        Ok(all)
    }

    /// Returns the position after the submissions yielded so far; valid at any time, also after an
    /// error. A submission that was not yielded is never skipped.
    pub fn resume_token(&self) -> ResumeToken {
        if self.has_ready() {
            self.pages.token_within_page(&self.passed)
        } else {
            self.pages.resume_token()
        }
    }

    /// Returns whether a submission can be missing in the list; `None` until the list
    /// [is finished](Self::is_finished).
    pub fn completeness(&self) -> Option<Completeness> {
        self.is_finished().then(|| self.completeness_so_far())
    }

    /// Returns true when all submissions were yielded: see [`SubmissionPages::is_finished`].
    pub fn is_finished(&self) -> bool {
        !self.has_ready() && self.pages.is_finished()
    }

    /// Returns whether a submission can be missing among those that were read: see
    /// [`SubmissionPages::completeness_so_far`].
    pub fn completeness_so_far(&self) -> Completeness {
        self.pages.completeness_so_far()
    }

    /// Returns the units of which submissions may be missing: see
    /// [`SubmissionPages::tie_overflows`].
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.pages.tie_overflows()
    }

    /// Returns the time of [`SubmissionPages::first_read_at`].
    pub(super) fn first_read_at(&self) -> Option<Timestamp> {
        self.pages.first_read_at()
    }

    /// Returns the first submissions that were left out because they violate the API: see
    /// [`SubmissionPages::skipped`].
    pub fn skipped(&self) -> &[SkippedItem] {
        self.pages.skipped()
    }

    /// Returns the number of submissions that were left out because they violate the API.
    pub fn skipped_count(&self) -> u64 {
        self.pages.skipped_count()
    }

    pub(super) fn is_done(&self) -> bool {
        !self.has_ready() && self.pages.is_done()
    }

    pub(super) fn poll_item(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Submission, Error>>> {
        let ready = ready!(self.poll_ready(cx));
        Poll::Ready(ready.map(|_| self.take_ready()).transpose())
    }

    /// Polls for the next page, instead of its submissions one by one.
    pub(super) fn poll_page(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<SubmissionPage, Error>>> {
        self.pages.poll_page(cx)
    }

    /// Waits for a page with rows; false at the end of the list.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        while !self.has_ready() {
            match ready!(self.pages.poll_page(cx)).transpose() {
                Ok(Some(page)) => {
                    let (rows, passed) = page.into_rows();
                    (self.rows, self.passed) = (rows.into_iter(), passed);
                }
                Ok(None) => return Poll::Ready(Ok(false)),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Returns true if the next submission needs no request.
    pub(crate) fn has_ready(&self) -> bool {
        !self.rows.as_slice().is_empty()
    }

    /// Returns the next submission of the current page.
    pub(crate) fn take_ready(&mut self) -> Option<Submission> {
        let row = self.rows.next()?;
        self.passed.push(&row);
        Some(row)
    }
}

/// Returns the error of a list that is longer than the caller allows.
pub(crate) fn more_than(max: usize) -> Error {
    let what = format!("the list has more than `{max}` submissions");
    Error::parts(ErrorKind::TooLarge, SUBMISSIONS, what).into()
}

list_stream!(Submissions, poll_item, Submission);
