//! The submissions of a list, one by one.

use std::ops::Deref;
use std::task::{Context, Poll, ready};
use std::vec;

use formsvc_protocol::Submission;

use super::walk::WalkRow;
use super::{PollItem, ResumeToken, SubmissionPage, SubmissionPages};
use crate::completeness::Completeness;
use crate::error::{Error, ErrorKind};
use crate::operation::SUBMISSIONS;

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
    rows: PageRows,
}

/// The rows of a page that are not yielded yet, and those before them.
#[derive(Debug, Default)]
pub(super) struct PageRows {
    rows: vec::IntoIter<Submission>,
    passed: Vec<WalkRow>,
}

impl PageRows {
    pub(super) fn of(page: SubmissionPage) -> Self {
        let (rows, passed) = page.into_rows();
        Self { rows: rows.into_iter(), passed }
    }

    fn is_empty(&self) -> bool {
        self.rows.as_slice().is_empty()
    }

    pub(super) fn next(&mut self) -> Option<Submission> {
        self.rows.next().inspect(|row| self.passed.push(WalkRow::of(row)))
    }

    /// Returns the position after the rows yielded so far. This is a page of `pages`, the last one.
    pub(super) fn resume_token(&self, pages: &SubmissionPages) -> ResumeToken {
        if self.is_empty() { pages.resume_token() } else { pages.token_within_page(&self.passed) }
    }
}

/// The accessors of the pages.
impl Deref for Submissions {
    type Target = SubmissionPages;

    fn deref(&self) -> &SubmissionPages {
        &self.pages
    }
}

impl Submissions {
    pub(super) fn new(pages: SubmissionPages) -> Self {
        Self { pages, rows: PageRows::default() }
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
                let what = format!("the list has more than `{max}` submissions");
                return Err(Error::parts(ErrorKind::TooLarge, SUBMISSIONS, what).into());
            }
            all.extend(self.rows.next());
        }
        Ok(all)
    }

    /// Returns the position after the submissions yielded so far; valid at any time, also after an
    /// error. A submission that was not yielded is never skipped.
    pub fn resume_token(&self) -> ResumeToken {
        self.rows.resume_token(&self.pages)
    }

    /// Returns whether a submission can be missing in the list; `None` until the list
    /// [is finished](Self::is_finished).
    pub fn completeness(&self) -> Option<Completeness> {
        self.is_finished().then(|| self.completeness_so_far())
    }

    /// Returns true when all submissions were yielded: see [`SubmissionPages::is_finished`].
    pub fn is_finished(&self) -> bool {
        self.rows.is_empty() && self.pages.is_finished()
    }

    fn is_done(&self) -> bool {
        self.rows.is_empty() && self.pages.is_done()
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> PollItem<Submission> {
        let ready = ready!(self.poll_ready(cx));
        Poll::Ready(ready.map(|_| self.rows.next()).transpose())
    }

    /// Waits for a page with rows; false at the end of the list.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        while self.rows.is_empty() {
            match ready!(self.pages.poll_page(cx)).transpose() {
                Ok(Some(page)) => self.rows = PageRows::of(page),
                Ok(None) => return Poll::Ready(Ok(false)),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(true))
    }
}

list_stream!(Submissions, poll_item, Submission);
