//! The submissions that are new since a sync point, one by one or page by page.

use std::ops::Deref;
use std::task::{Context, Poll, ready};

use formsvc_protocol::{Submission, Timestamp};

use super::sync_point::{NextWalk, SyncRun};
use super::{SubmissionPage, SubmissionQuery, Submissions, SyncPoint};
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
pub struct NewSubmissions(Run);

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
pub struct NewSubmissionPages(Run);

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
        Self(Run::new(query, start))
    }

    /// Returns the pages of the run, from its [`sync_point`](Self::sync_point) on.
    pub fn pages(self) -> NewSubmissionPages {
        let point = self.sync_point();
        NewSubmissionPages(Run::new(self.0.query, point))
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Submission, Error>>> {
        self.0.poll_next(cx, Submissions::poll_item, |row, run, read_at| run.accept(row, read_at))
    }
}

impl NewSubmissionPages {
    fn poll_page(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<NewSubmissionPage, Error>>> {
        let page = ready!(self.0.poll_next(cx, Submissions::poll_page, |page, run, read_at| {
            page.retain(|row| run.accept(row, read_at));
            true
        }));
        let with_point = |page| NewSubmissionPage { page, point: self.0.sync_point() };
        Poll::Ready(page.map(|page| page.map(with_point)))
    }
}

macro_rules! run_accessors {
    ($($list:ident),+) => {$(
        impl $list {
            /// Returns the point that covers exactly the submissions yielded so far: the start of the next
            /// run. Valid at any time, also after an error. Save it after the submissions are stored. The
            /// call copies up to 10,000 hashes: call it after a batch rather than after each submission.
            pub fn sync_point(&self) -> SyncPoint {
                self.0.sync_point()
            }

            /// Returns whether a new submission can be missing; `None` until the run
            /// [is finished](Self::is_finished).
            pub fn completeness(&self) -> Option<Completeness> {
                self.is_finished().then_some(self.0.completeness)
            }

            /// Returns whether a submission can be missing among those that were read.
            pub fn completeness_so_far(&self) -> Completeness {
                let walk = self.0.walk.as_ref().map(Submissions::completeness_so_far);
                walk.map_or(self.0.completeness, |walk| walk.max(self.0.completeness))
            }

            /// Returns true when all new submissions were yielded. False before, and for ever after an
            /// error.
            pub fn is_finished(&self) -> bool {
                self.0.is_finished
            }

            fn is_done(&self) -> bool {
                self.0.done && self.0.error.is_none()
            }
        }
    )+};
}

run_accessors!(NewSubmissions, NewSubmissionPages);

/// A run: the walks of one list after another.
#[derive(Debug)]
struct Run {
    query: SubmissionQuery,
    /// The point at the start; the result as long as `decisions` is `None`.
    start: SyncPoint,
    /// `None` if a setting is invalid.
    decisions: Option<SyncRun>,
    walk: Option<Submissions>,
    completeness: Completeness,
    error: Option<Error>,
    done: bool,
    is_finished: bool,
}

impl Run {
    fn new(query: SubmissionQuery, start: SyncPoint) -> Self {
        let (decisions, error) = match query.start_sync(&start) {
            Ok(decisions) => (Some(decisions), None),
            Err(error) => (None, Some(error)),
        };
        let completeness = decisions.as_ref().map_or(Completeness::Proven, SyncRun::completeness);
        let done = decisions.is_none();
        Self { query, start, decisions, walk: None, completeness, error, done, is_finished: false }
    }

    fn sync_point(&self) -> SyncPoint {
        let token = self.walk.as_ref().map(Submissions::resume_token);
        self.decisions.as_ref().map_or_else(|| self.start.clone(), |run| run.point(token))
    }

    /// Polls the walks for the next item. `accept` drops the rows that an earlier run has yielded, and
    /// returns false if the item is not yielded.
    fn poll_next<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl Fn(&mut Submissions, &mut Context<'_>) -> Poll<Option<Result<T, Error>>>,
        accept: impl Fn(&mut T, &mut SyncRun, Option<&Timestamp>) -> bool,
    ) -> Poll<Option<Result<T, Error>>> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let Some(run) = self.decisions.as_mut().filter(|_| !self.done) else {
            return Poll::Ready(None);
        };
        loop {
            let walk = match &mut self.walk {
                Some(walk) => walk,
                none => {
                    let Some(query) = query_of_next_walk(&self.query, run) else {
                        (self.done, self.is_finished) = (true, true);
                        return Poll::Ready(None);
                    };
                    none.insert(query.items())
                }
            };
            match ready!(poll(walk, cx)) {
                Some(Ok(mut item)) => {
                    if accept(&mut item, run, walk.first_read_at().as_ref()) {
                        return Poll::Ready(Some(Ok(item)));
                    }
                }
                Some(Err(error)) => {
                    self.done = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.completeness = self.completeness.max(walk.completeness_so_far());
                    self.walk = None;
                    if run.finish_walk() {
                        let form = self.query.form_id().ok().cloned();
                        self.query.client.shared.emit(&ClientEvent::SyncOverlapShortened { form });
                    }
                }
            }
        }
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
