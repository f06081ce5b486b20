//! Item by item.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use formsvc_protocol::Submission;
use futures_core::{FusedStream, Stream};

use super::{Completeness, ResumeToken, Row, SubmissionPage, SubmissionPages, TieOverflow};
use crate::error::{Error, ErrorKind};
use crate::operation::SUBMISSIONS;

/// The submissions of a list, as a stream: owned, fused, `Send`, `Sync` and `Unpin`. Every id comes
/// once, or the stream ends with an error; after an error its
/// [`resume_token`](Self::resume_token) stays good.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut items = client.form("frm_1".parse()?).submissions().items();
/// while let Some(submission) = items.try_next().await? {
///     println!("{}", submission.data.as_json());
///     std::fs::write("place", items.resume_token().to_string())?;
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct Submissions {
    pages: SubmissionPages,
    /// The page at hand, while it has rows that were not yielded.
    page: Option<SubmissionPage>,
    /// Rows of it that were.
    yielded: usize,
}

impl Submissions {
    pub(super) fn new(pages: SubmissionPages) -> Self {
        Self { pages, page: None, yielded: 0 }
    }

    /// The next submission; `None` at the end. Cancel safe: a dropped call loses nothing.
    pub async fn try_next(&mut self) -> Result<Option<Submission>, Error> {
        std::future::poll_fn(|cx| self.poll_item(cx)).await.transpose()
    }

    /// The rest of the list, if it is no more than `max` submissions. Holds them all in memory,
    /// which is why there is no version without a bound.
    ///
    /// On an error, [`ErrorKind::TooLarge`] when there are more, the submissions read so far are
    /// lost; the stream stands after them.
    pub async fn try_collect_max(&mut self, max: usize) -> Result<Vec<Submission>, Error> {
        let mut all = Vec::new();
        loop {
            let more = std::future::poll_fn(|cx| self.poll_ready(cx)).await?;
            if !more {
                return Ok(all);
            }
            if all.len() == max {
                return Err(more_than(max));
            }
            all.extend(self.take_row(|_, row| row.to_submission()));
        }
    }

    /// The units of which submissions may be missing: see
    /// [`SubmissionPages::tie_overflows`].
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.pages.tie_overflows()
    }

    /// Whether the submissions so far are all that the service has.
    pub fn completeness(&self) -> Completeness {
        self.pages.completeness()
    }

    /// Where to go on after the submissions yielded so far; good at any time, also after an
    /// error. It moves to the next page only when the last submission of a page was yielded, so
    /// what was not yielded is never skipped.
    pub fn resume_token(&self) -> ResumeToken {
        let Some(page) = &self.page else { return self.pages.resume_token() };
        self.pages.token_after(page.passed(self.yielded))
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Submission, Error>>> {
        self.poll_row(cx, |_, row| row.to_submission())
    }

    /// The next row, as whatever the caller makes of it and its page.
    pub(super) fn poll_row<R>(
        &mut self,
        cx: &mut Context<'_>,
        read: impl FnOnce(&SubmissionPage, Row<'_>) -> R,
    ) -> Poll<Option<Result<R, Error>>> {
        Poll::Ready(match ready!(self.poll_ready(cx)) {
            Ok(_) => self.take_row(read).map(Ok),
            Err(error) => Some(Err(error)),
        })
    }

    /// Sees to a page with a row that was not yielded; false at the end.
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error>> {
        while self.page.is_none() {
            match ready!(self.pages.poll_page(cx)) {
                None => return Poll::Ready(Ok(false)),
                Some(Err(error)) => return Poll::Ready(Err(error)),
                Some(Ok(page)) => {
                    self.yielded = 0;
                    self.page = Some(page).filter(|page| !page.is_empty());
                }
            }
        }
        Poll::Ready(Ok(true))
    }

    /// Whether there is a row at hand.
    #[cfg(feature = "blocking")]
    pub(crate) fn is_ready(&self) -> bool {
        self.page.is_some()
    }

    /// Hands on the row at hand, as whatever the caller makes of it and its page.
    pub(crate) fn take_row<R>(
        &mut self,
        read: impl FnOnce(&SubmissionPage, Row<'_>) -> R,
    ) -> Option<R> {
        let page = self.page.as_ref()?;
        let item = page.row(self.yielded).map(|row| read(page, row));
        self.yielded += 1;
        if self.yielded == page.len() {
            self.page = None;
        }
        item
    }
}

/// The error of a list that is longer than the caller allows.
pub(crate) fn more_than(max: usize) -> Error {
    let what = format!("the list has more than `{max}` submissions");
    Error::parts(ErrorKind::TooLarge, SUBMISSIONS, what).into()
}

impl Stream for Submissions {
    type Item = Result<Submission, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_item(cx)
    }
}

impl FusedStream for Submissions {
    fn is_terminated(&self) -> bool {
        self.page.is_none() && self.pages.is_terminated()
    }
}
