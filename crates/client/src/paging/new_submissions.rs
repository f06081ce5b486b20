//! The submissions that are new since a sync point, one by one or page by page.

use std::ops::Deref;
use std::task::{Context, Poll, ready};

use formsvc_protocol::Submission;

use super::submissions::PageRows;
use super::sync_point::{NextWalk, SyncRun};
use super::{PollItem, SubmissionPage, SubmissionPages, SubmissionQuery, SyncPoint};
use crate::completeness::Completeness;
use crate::error::Error;
use crate::event::ClientEvent;

/// The submissions of a form that no earlier run has yielded: an owned, fused stream, `Send`,
/// `Sync` and `Unpin`. Created by [`SubmissionQuery::sync_from`].
///
/// A run first finishes the walk of an interrupted run. Then it reads from the newest submission
/// down to those that were older than 5 minutes when the last run read them, so that it finds
/// submissions that were committed up to 5 minutes late. It ends by time, also if known submissions were
/// deleted. Submissions are newest first within each walk.
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct NewSubmissions {
    pages: NewSubmissionPages,
    rows: PageRows,
}

/// The pages of a form with the submissions that no earlier run has yielded: an owned, fused stream, `Send`,
/// `Sync` and `Unpin`. Created by [`NewSubmissions::pages`]. Pages without a new submission are yielded too.
///
/// ```no_run
/// # async fn example(client: formsvc_client::Client) -> Result<(), Box<dyn std::error::Error>> {
/// # fn store(_: &[formsvc_client::Submission], _: &formsvc_client::SyncPoint) {}
/// use formsvc_client::SyncPoint;
/// let point = SyncPoint::load_if_exists("contact.sync")?.unwrap_or_default();
/// let mut pages = client.form("frm_1").submissions().sync_from(&point).pages();
/// while let Some(page) = pages.try_next().await? {
///     // In one transaction.
///     store(page.submissions(), page.sync_point());
/// }
/// # Ok(())
/// # }
/// ```
#[must_use = "streams do nothing unless polled"]
#[derive(Debug)]
pub struct NewSubmissionPages {
    query: SubmissionQuery,
    run: SyncRun,
    /// The walk that is being read; `None` between two walks.
    walk: Option<SubmissionPages>,
    completeness: Completeness,
    error: Option<Error>,
    done: bool,
    is_finished: bool,
}

/// A page with new submissions, and the sync point after it; dereferences to the page.
#[derive(Clone, Debug)]
pub struct NewSubmissionPage {
    page: SubmissionPage,
    point: SyncPoint,
}

impl NewSubmissionPage {
    /// Returns the point that covers this page and those before it: save it when the page is stored.
    pub fn sync_point(&self) -> &SyncPoint {
        &self.point
    }

    /// Returns the submissions, newest first, without a copy.
    pub fn into_submissions(self) -> Vec<Submission> {
        self.page.into_submissions()
    }
}

impl Deref for NewSubmissionPage {
    type Target = SubmissionPage;

    fn deref(&self) -> &SubmissionPage {
        &self.page
    }
}

impl NewSubmissions {
    pub(super) fn new(query: SubmissionQuery, start: SyncPoint) -> Self {
        Self { pages: NewSubmissionPages::new(query, start), rows: PageRows::default() }
    }

    /// Returns the pages of the run, from its [`sync_point`](Self::sync_point) on.
    pub fn pages(self) -> NewSubmissionPages {
        let point = self.sync_point();
        NewSubmissionPages::new(self.pages.query, point)
    }

    /// Returns the point that covers exactly the submissions yielded so far: the start of the next
    /// run. Valid at any time, also after an error. Save it after the submissions are stored. The
    /// call copies up to 10,000 hashes: call it after a batch rather than after each submission.
    pub fn sync_point(&self) -> SyncPoint {
        let NewSubmissionPages { run, walk, .. } = &self.pages;
        run.point(walk.as_ref().map(|walk| self.rows.resume_token(walk)))
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> PollItem<Submission> {
        loop {
            while let Some(row) = self.rows.next() {
                if self.pages.accept(&row) {
                    return Poll::Ready(Some(Ok(row)));
                }
            }
            match ready!(self.pages.poll_all_rows(cx)) {
                Some(Ok(page)) => self.rows = PageRows::of(page),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// The accessors of the pages.
impl Deref for NewSubmissions {
    type Target = NewSubmissionPages;

    fn deref(&self) -> &NewSubmissionPages {
        &self.pages
    }
}

impl NewSubmissionPages {
    fn new(query: SubmissionQuery, start: SyncPoint) -> Self {
        let (run, error) = query.start_sync(start);
        Self {
            query,
            completeness: run.completeness(),
            run,
            walk: None,
            done: error.is_some(),
            error,
            is_finished: false,
        }
    }

    /// Returns the point that covers exactly the pages yielded so far: see
    /// [`NewSubmissions::sync_point`].
    pub fn sync_point(&self) -> SyncPoint {
        self.run.point(self.walk.as_ref().map(SubmissionPages::resume_token))
    }

    /// Returns whether a new submission can be missing; `None` until the run
    /// [is finished](Self::is_finished).
    pub fn completeness(&self) -> Option<Completeness> {
        self.is_finished.then_some(self.completeness)
    }

    /// Returns whether a submission can be missing among those that were read.
    pub fn completeness_so_far(&self) -> Completeness {
        let walk = self.walk.as_ref().map(SubmissionPages::completeness_so_far);
        walk.map_or(self.completeness, |walk| walk.max(self.completeness))
    }

    /// Returns true when all new submissions were yielded. False before, and for ever after an
    /// error.
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    fn is_done(&self) -> bool {
        self.done && self.error.is_none()
    }

    /// Records a row of the walk. Returns whether it is new.
    fn accept(&mut self, row: &Submission) -> bool {
        let read_at = self.walk.as_ref().and_then(SubmissionPages::first_read_at);
        self.run.accept(row, read_at.as_ref())
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> PollItem<NewSubmissionPage> {
        let page = ready!(self.poll_all_rows(cx));
        Poll::Ready(page.map(|page| {
            let mut page = page?;
            page.retain(|row| self.accept(row));
            Ok(NewSubmissionPage { page, point: self.sync_point() })
        }))
    }

    /// Polls the walks for the next page, with the rows that an earlier run has yielded.
    fn poll_all_rows(&mut self, cx: &mut Context<'_>) -> PollItem<SubmissionPage> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        while !self.done {
            let walk = match &mut self.walk {
                Some(walk) => walk,
                none => {
                    let Some(query) = query_of_next_walk(&self.query, &self.run) else {
                        (self.done, self.is_finished) = (true, true);
                        break;
                    };
                    none.insert(query.pages())
                }
            };
            if let Some(page) = ready!(walk.poll_page(cx)) {
                self.done = page.is_err();
                return Poll::Ready(Some(page));
            }
            self.completeness = self.completeness_so_far();
            self.walk = None;
            if self.run.finish_walk() {
                let form = self.query.form_id().ok().cloned();
                self.query.client.shared.emit(&ClientEvent::SyncOverlapShortened { form });
            }
        }
        Poll::Ready(None)
    }
}

fn query_of_next_walk(query: &SubmissionQuery, run: &SyncRun) -> Option<SubmissionQuery> {
    let query = match run.next_walk() {
        NextWalk::Resume(token) => query.clone().resume_from(token.clone()),
        NextWalk::Newest => query.clone(),
        NextWalk::None => return None,
    };
    Some(match run.lower_bound() {
        Some(time) => query.since(time),
        None => query,
    })
}

list_stream!(NewSubmissions, poll_item, Submission);
list_stream!(NewSubmissionPages, poll_page, NewSubmissionPage);
