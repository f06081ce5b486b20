//! Page by page.

use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use formsvc_protocol::{Cursor, FormId};
use futures_core::{FusedStream, Stream};
use http::StatusCode;

use super::bounds::Bounds;
use super::page::RawPage;
use super::walk::{NextStep, PagingError, PagingWarning, Stuck, Walk};
use super::{Completeness, ListSubmissions, ResumeToken, Row, SubmissionPage, TieOverflow};
use crate::call::call;
use crate::error::{Error, ErrorKind, Parts};
use crate::operation::SUBMISSIONS;
use crate::{BoxFuture, Client, Event, ResponseMeta};

pub(super) type Fetched = Result<(RawPage, ResponseMeta), Error>;

/// The pages of a list, as a stream: owned, fused, `Send`, `Sync` and `Unpin`. Pages that the
/// service sends empty are yielded empty. After an error it ends; its
/// [`resume_token`](Self::resume_token) stays good.
///
/// Dropping it drops the request under way.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut pages = client.form("frm_1".parse()?).submissions().pages();
/// while let Some(page) = pages.try_next().await? {
///     for row in page.rows() {
///         println!("{} {} {}", row.id(), row.created_at(), row.data());
///     }
///     println!("to go on from here: {}", pages.resume_token());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
pub struct SubmissionPages {
    client: Client,
    form: FormId,
    page_size: u32,
    pages_left: Option<u64>,
    /// Where it began; the resume token until the first page arrives.
    first: ResumeToken,
    walk: Walk,
    /// The decision about the last page that arrived.
    next: Option<NextStep>,
    fetching: Option<Fetching>,
    prefetch: bool,
    bounds: Bounds,
    /// Where to go on when the bounds ended the list.
    stopped: Option<ResumeToken>,
    /// A page that arrived and waits until the request for the next one is on its way.
    held: Option<SubmissionPage>,
    /// Comes after the page that was yielded last.
    error: Option<Error>,
    done: bool,
}

/// The request for the next page.
enum Fetching {
    /// The lock is never taken: it makes a future that can only be sent part of a stream that can
    /// also be shared.
    UnderWay(Mutex<BoxFuture<'static, Fetched>>),
    Done(Box<Fetched>),
}

impl Fetching {
    /// Goes on with it; true once it is done.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        if let Self::UnderWay(future) = self {
            let future = future.get_mut().expect("no code panics while it holds this lock");
            match future.as_mut().poll(cx) {
                Poll::Ready(fetched) => *self = Self::Done(Box::new(fetched)),
                Poll::Pending => return false,
            }
        }
        true
    }
}

impl SubmissionPages {
    pub(super) fn new(list: ListSubmissions) -> Self {
        let (walk, error, done) = match list.walk() {
            Ok(Some(walk)) => (walk, None, false),
            Ok(None) => (Walk::start(None), None, true),
            Err(error) => (Walk::start(None), Some(error), true),
        };
        Self {
            first: list.first_token(),
            page_size: list.page_size,
            client: list.client,
            form: list.form,
            pages_left: list.max_pages,
            walk,
            next: None,
            fetching: None,
            prefetch: list.prefetch,
            bounds: list.bounds,
            stopped: None,
            held: None,
            error,
            done,
        }
    }

    /// The next page; `None` at the end. Cancel safe: a dropped call loses no page.
    pub async fn try_next(&mut self) -> Result<Option<SubmissionPage>, Error> {
        std::future::poll_fn(|cx| self.poll_page(cx)).await.transpose()
    }

    /// Whether the pages so far contain every submission that the service has between the first and
    /// the last one.
    pub fn completeness(&self) -> Completeness {
        self.walk.completeness()
    }

    /// The units of which submissions may be missing, newest first; empty unless
    /// [`allow_incomplete`](ListSubmissions::allow_incomplete) is set.
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.walk.overflows()
    }

    /// Where to go on after the pages yielded so far; good at any time, also after an error.
    pub fn resume_token(&self) -> ResumeToken {
        if self.held.is_some() {
            return self.token_after(std::iter::empty());
        }
        if let Some(token) = &self.stopped {
            return token.clone();
        }
        let form = self.form.clone();
        let oldest = self.walk.known_oldest(self.walk.oldest());
        let once_more = || {
            let position = self.walk.position_before().clone();
            ResumeToken::at_page(form.clone(), position, self.walk.known_once_more(), oldest)
        };
        match self.next {
            None => self.first.clone(),
            Some(NextStep::Finished) => ResumeToken::at_end(form),
            Some(
                NextStep::Continue
                | NextStep::Retry
                | NextStep::Failed(PagingError::TieOverflow(_)),
            ) => ResumeToken::at_page(form, self.walk.position(), self.walk.known(), oldest),
            // No cursor leads on from that page, so it is requested once more; its rows are known.
            Some(NextStep::Failed(_)) => once_more(),
        }
    }

    /// Where to go on within the page that arrived last, of which only these rows are done.
    pub(super) fn token_after<'p>(
        &'p self,
        done: impl DoubleEndedIterator<Item = Row<'p>> + Clone,
    ) -> ResumeToken {
        let position = self.walk.position_before().clone();
        let last = done.clone().next_back().map(Row::unix_micros);
        let known_oldest = self.walk.known_oldest(last.or(position.oldest));
        let seen = self.walk.known_before().chain(done.map(Row::id));
        ResumeToken::at_page(self.form.clone(), position, seen, known_oldest)
    }

    pub(crate) fn poll_page(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<SubmissionPage, Error>>> {
        if let Some(page) = self.held.take() {
            return Poll::Ready(Some(Ok(page)));
        }
        if let Some(error) = self.error.take() {
            return self.end(Some(error));
        }
        if self.done || self.pages_left == Some(0) {
            self.done = true;
            return Poll::Ready(None);
        }
        let fetched = loop {
            if !self.poll_fetching(cx) {
                return Poll::Pending;
            }
            let Some(Fetching::Done(fetched)) = self.fetching.take() else {
                unreachable!("it was just done")
            };
            match *fetched {
                Ok((page, meta)) => {
                    if let Some(page) = self.take(page, meta) {
                        break Ok(page);
                    }
                    if let Some(error) = self.error.take() {
                        break Err(error);
                    }
                }
                Err(error) if retries_refused(&self.client, &mut self.walk, &error) => {}
                Err(error) => {
                    self.note_refusal(&error);
                    break Err(error);
                }
            }
        };
        match fetched {
            Ok(page) => {
                if !self.prefetch || self.done || self.error.is_some() || self.pages_left == Some(0)
                {
                    return Poll::Ready(Some(Ok(page)));
                }
                self.poll_fetching(cx);
                self.held = Some(page);
                // Others, the connection among them, have their turn first: so the request is on
                // its way while the caller is busy with the page.
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Err(error) => {
                self.done = true;
                Poll::Ready(Some(Err(error)))
            }
        }
    }

    /// Asks for the next page, or goes on asking; true once that is done.
    fn poll_fetching(&mut self, cx: &mut Context<'_>) -> bool {
        let fetching = self.fetching.get_or_insert_with(|| {
            let cursor = self.walk.cursor().cloned();
            let (client, form) = (self.client.clone(), self.form.clone());
            let rows = self.walk.rows_to_request(self.page_size);
            Fetching::UnderWay(Mutex::new(Box::pin(fetch(client, form, rows, cursor))))
        });
        fetching.poll(cx)
    }

    /// When the service refused the cursor that it gave with the last page, there is no way on from
    /// that page.
    fn note_refusal(&mut self, error: &Error) {
        if refuses_cursor(error) && self.next.is_some() {
            self.next = Some(NextStep::Failed(PagingError::Stuck(Stuck::Refused)));
        }
    }

    fn end(&mut self, error: Option<Error>) -> Poll<Option<Result<SubmissionPage, Error>>> {
        self.done = true;
        Poll::Ready(error.map(Err))
    }

    /// Takes a page that arrived; `None` when it does not count.
    fn take(&mut self, page: RawPage, meta: ResponseMeta) -> Option<SubmissionPage> {
        let (mut page, next) = accept(&self.client, &mut self.walk, page, meta);
        if next == NextStep::Retry {
            return None;
        }
        self.next = Some(next);
        if let NextStep::Failed(overflow @ PagingError::TieOverflow(_)) = next {
            self.error = Some(error(overflow, &page));
            return None;
        }
        self.pages_left = self.pages_left.map(|left| left - 1);
        if page.cut(&self.bounds) {
            self.stopped = Some(self.token_after(page.passed(page.len())));
            self.done = true;
            return Some(page);
        }
        match next {
            NextStep::Continue | NextStep::Retry => {}
            NextStep::Finished => self.done = true,
            NextStep::Failed(failure) => self.error = Some(error(failure, &page)),
        }
        Some(page)
    }
}

/// Asks for one page.
pub(super) async fn fetch(
    client: Client,
    form: FormId,
    page_size: u32,
    cursor: Option<Cursor>,
) -> Fetched {
    let cursor = cursor.as_ref().map(Cursor::as_str);
    let address = client.shared.base.submissions(form.as_str(), page_size, cursor);
    call(&client.shared, SUBMISSIONS, address, |body| RawPage::read(body, page_size)).await
}

/// Takes a page into the walk, and reports it.
pub(super) fn accept(
    client: &Client,
    walk: &mut Walk,
    page: RawPage,
    meta: ResponseMeta,
) -> (SubmissionPage, NextStep) {
    let outcome = walk.accept(page.rows(), page.pagination());
    let page = page.keep(&outcome, meta);
    report_warning(client, outcome.warning);
    if outcome.next != NextStep::Retry {
        report_page(client, &page, outcome.duplicates.len());
    }
    (page, outcome.next)
}

fn report_page(client: &Client, page: &SubmissionPage, duplicates: usize) {
    client.shared.tell(|| Event::PageFetched {
        rows: page.len(),
        duplicates,
        bytes: page.text().len(),
        has_more: page.has_more(),
        elapsed: page.meta().elapsed(),
    });
}

/// Whether a failed request is repeated with another cursor: the service refused one that it had not
/// issued.
pub(super) fn retries_refused(client: &Client, walk: &mut Walk, error: &Error) -> bool {
    if !refuses_cursor(error) {
        return false;
    }
    let Some(outcome) = walk.refused() else { return false };
    report_warning(client, outcome.warning);
    true
}

/// Whether the service may have refused the cursor.
pub(super) fn refuses_cursor(error: &Error) -> bool {
    let refuses = [StatusCode::BAD_REQUEST, StatusCode::UNPROCESSABLE_ENTITY];
    error.status().is_some_and(|status| refuses.contains(&status))
}

fn report_warning(client: &Client, warning: Option<PagingWarning>) {
    let Some(warning) = warning else { return };
    client.shared.tell(|| match warning {
        PagingWarning::FellBack(why) => Event::Fallback { why },
        PagingWarning::Overflow(overflow) => Event::TieOverflow(overflow.into()),
    });
}

/// The error of a list that cannot continue.
pub(super) fn paging_error(error: PagingError) -> Parts {
    match error {
        PagingError::Stuck(stuck) => {
            Error::parts(ErrorKind::PaginationStuck, SUBMISSIONS, stuck.message())
        }
        PagingError::OutOfOrder => Error::parts(
            ErrorKind::OutOfOrder,
            SUBMISSIONS,
            "a submission is newer than the one before it, though the list is newest first",
        ),
        PagingError::TooManyTies => Error::parts(
            ErrorKind::TooLarge,
            SUBMISSIONS,
            "more than 100,000 submissions share one `created_at`, so repeated ones cannot be \
             recognized",
        ),
        PagingError::TieOverflow(overflow) => {
            let what = format!(
                "more submissions share a {} than a page can show: {}",
                overflow.unit,
                TieOverflow::from(overflow)
            );
            Error::parts(ErrorKind::TieOverflow, SUBMISSIONS, what)
        }
    }
}

/// The same, with the facts of the page.
pub(super) fn error(error: PagingError, page: &SubmissionPage) -> Error {
    let mut parts = paging_error(error);
    if error == PagingError::OutOfOrder {
        parts.json_path = page.cut_at();
    }
    let meta = page.meta();
    parts.status = Some(meta.status());
    parts.request_id = meta.request_id().map(str::to_owned);
    parts.attempts = meta.attempts();
    parts.elapsed = meta.elapsed();
    parts.into()
}

impl Stream for SubmissionPages {
    type Item = Result<SubmissionPage, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_page(cx)
    }
}

impl FusedStream for SubmissionPages {
    fn is_terminated(&self) -> bool {
        self.done && self.error.is_none()
    }
}

impl std::fmt::Debug for SubmissionPages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubmissionPages")
            .field("form", &self.form)
            .field("cursor", &self.walk.cursor())
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}
