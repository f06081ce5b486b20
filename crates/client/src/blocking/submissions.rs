//! Lists of submissions as iterators.

use std::iter::FusedIterator;
use std::ops::Deref;
use std::sync::Arc;

use formsvc_protocol::{Cursor, Submission, Timestamp};

use super::runtime::OwnRuntime;
use crate::operation::SUBMISSIONS;
use crate::{Error, ResumeToken, SubmissionPage, SyncPoint};

/// A query for the submissions of a form: the blocking form of
/// [`SubmissionQuery`](crate::SubmissionQuery). Sends nothing by itself.
#[derive(Clone, Debug)]
#[must_use = "a query does nothing until its items or pages are read"]
pub struct SubmissionQuery {
    pub(super) query: crate::SubmissionQuery,
    pub(super) runtime: Arc<OwnRuntime>,
}

impl SubmissionQuery {
    same_setters! { SubmissionQuery query:
        page_size(rows: u32);
        start_at(cursor: Cursor);
        resume_from(token: ResumeToken);
        since(time: Timestamp);
        until(time: Timestamp);
        stop_when(stop: impl Fn(&Submission) -> bool + Send + Sync + 'static);
        max_pages(pages: u64);
        allow_incomplete(allow: bool);
    }

    /// Returns an iterator over the submissions.
    pub fn items(self) -> Submissions {
        Submissions { stream: self.query.items(), runtime: self.runtime, failed: false }
    }

    /// Returns an iterator over the pages.
    pub fn pages(self) -> SubmissionPages {
        SubmissionPages { stream: self.query.pages(), runtime: self.runtime, failed: false }
    }

    /// Returns an iterator over the submissions that are new since a sync point.
    pub fn sync_from(self, point: &SyncPoint) -> NewSubmissions {
        NewSubmissions { stream: self.query.sync_from(point), runtime: self.runtime, failed: false }
    }

    /// Requests a single page.
    pub fn page(self) -> Result<SubmissionPage, Error> {
        self.runtime.block_on(SUBMISSIONS, self.query.page())
    }
}

macro_rules! blocking_iterators {
    ($( $name:ident($item:ty); )+) => { $(
        #[doc = concat!("The blocking form of [`", stringify!($name), "`](crate::", stringify!($name),
            "): an iterator that requests a page when it needs one, and ends after an error.")]
        ///
        /// Resume token, sync point, completeness and warnings are those of the stream, through `Deref`.
        #[must_use = "iterators do nothing unless they are consumed"]
        #[derive(Debug)]
        pub struct $name {
            stream: crate::$name,
            runtime: Arc<OwnRuntime>,
            failed: bool,
        }

        impl Iterator for $name {
            type Item = Result<$item, Error>;

            fn next(&mut self) -> Option<Self::Item> {
                if self.failed {
                    return None;
                }
                let item = self.runtime.block_on(SUBMISSIONS, self.stream.try_next());
                self.failed = item.is_err();
                item.transpose()
            }
        }

        impl FusedIterator for $name {}

        impl Deref for $name {
            type Target = crate::$name;

            fn deref(&self) -> &Self::Target {
                &self.stream
            }
        }
    )+ };
}

blocking_iterators! {
    Submissions(Submission);
    SubmissionPages(SubmissionPage);
    NewSubmissions(Submission);
}

impl Submissions {
    /// See [`Submissions::try_collect_max`](crate::Submissions::try_collect_max).
    pub fn try_collect_max(&mut self, max: usize) -> Result<Vec<Submission>, Error> {
        self.runtime.block_on(SUBMISSIONS, self.stream.try_collect_max(max))
    }
}
