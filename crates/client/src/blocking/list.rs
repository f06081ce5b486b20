//! The settings of a list of submissions.

use std::sync::Arc;

use formsvc_protocol::{Cursor, Submission, Timestamp};

use super::runtime::Runtime;
use super::{SubmissionPages, Submissions};
use crate::operation::SUBMISSIONS;
use crate::{Error, ResumeToken, SubmissionPage};

/// A query for the submissions of a form with the settings of
/// [`SubmissionQuery`](crate::SubmissionQuery). Sends nothing by itself.
#[derive(Clone, Debug)]
#[must_use = "a query does nothing until its items or pages are read"]
pub struct SubmissionQuery {
    query: crate::SubmissionQuery,
    runtime: Arc<Runtime>,
}

/// Setters of the async query.
macro_rules! same_setters {
    ($( $name:ident($argument:ident: $type:ty); )+) => {
        $(
            #[doc = concat!(
                "See [`SubmissionQuery::", stringify!($name), "`](crate::SubmissionQuery::",
                stringify!($name), ")."
            )]
            pub fn $name(self, $argument: $type) -> Self {
                Self { query: self.query.$name($argument), runtime: self.runtime }
            }
        )+
    };
}

impl SubmissionQuery {
    pub(super) fn new(query: crate::SubmissionQuery, runtime: Arc<Runtime>) -> Self {
        Self { query, runtime }
    }

    same_setters! {
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
        Submissions::new(self.query.items(), self.runtime)
    }

    /// Returns an iterator over the pages.
    pub fn pages(self) -> SubmissionPages {
        SubmissionPages::new(self.query.pages(), self.runtime)
    }

    /// Requests a single page.
    pub fn page(self) -> Result<SubmissionPage, Error> {
        self.runtime.check(SUBMISSIONS)?;
        let query = self.query;
        self.runtime.run(async move { query.page().await })
    }
}
