//! The submissions that are new since a sync point.

use std::task::{Context, Poll, ready};

use formsvc_protocol::Submission;

use super::sync_point::{NextWalk, SyncRun};
use super::{SubmissionQuery, Submissions, SyncPoint};
use crate::ClientEvent;
use crate::completeness::Completeness;
use crate::error::Error;

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
    query: SubmissionQuery,
    /// The point at the start; the result as long as `run` is `None`.
    start: SyncPoint,
    /// `None` if a setting is invalid.
    run: Option<SyncRun>,
    walk: Option<Submissions>,
    completeness: Completeness,
    error: Option<Error>,
    done: bool,
}

impl NewSubmissions {
    pub(super) fn new(
        query: SubmissionQuery,
        start: SyncPoint,
        run: Result<SyncRun, Error>,
    ) -> Self {
        let (run, error) = match run {
            Ok(run) => (Some(run), None),
            Err(error) => (None, Some(error)),
        };
        let completeness = run.as_ref().map_or(Completeness::Proven, SyncRun::completeness);
        Self { query, start, done: run.is_none(), run, walk: None, completeness, error }
    }

    /// Returns the point that covers exactly the submissions yielded so far: the start of the next
    /// run. Valid at any time, also after an error. Save it after the submissions are stored.
    /// The call copies up to 10,000 ids: call it after a batch rather than after each submission.
    pub fn sync_point(&self) -> SyncPoint {
        let token = self.walk.as_ref().map(Submissions::resume_token);
        self.run.as_ref().map_or_else(|| self.start.clone(), |run| run.point(token))
    }

    /// Returns whether the submissions so far are all that the service has, within this run.
    pub fn completeness(&self) -> Completeness {
        let walk = self.walk.as_ref().map(Submissions::completeness);
        walk.map_or(self.completeness, |walk| walk.max(self.completeness))
    }

    fn is_done(&self) -> bool {
        self.done && self.error.is_none()
    }

    fn poll_item(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Submission, Error>>> {
        if let Some(error) = self.error.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let Some(run) = self.run.as_mut().filter(|_| !self.done) else { return Poll::Ready(None) };
        loop {
            let walk = match &mut self.walk {
                Some(walk) => walk,
                none => {
                    let Some(query) = query_of_next_walk(&self.query, run) else {
                        self.done = true;
                        return Poll::Ready(None);
                    };
                    none.insert(query.items())
                }
            };
            match ready!(walk.poll_item(cx)) {
                Some(Ok(submission)) if run.accept(&submission, walk.first_read_at()) => {
                    return Poll::Ready(Some(Ok(submission)));
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    self.done = true;
                    return Poll::Ready(Some(Err(error)));
                }
                None => {
                    self.completeness = self.completeness.max(walk.completeness());
                    self.walk = None;
                    if run.finish_walk() {
                        self.query.client.shared.emit(&ClientEvent::SyncOverlapShortened);
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
