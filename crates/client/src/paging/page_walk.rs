//! The decisions of a walk for callers that fetch the pages themselves.

use formsvc_protocol::{Cursor, Pagination};

use super::report::{paging_error, refuses_cursor};
use super::walk::{NextStep, PagingWarning, Walk};
use super::{Completeness, FallbackReason, TieOverflow};
use crate::error::Error;

/// Decides which rows of a page are new and where a list of submissions continues, for programs that
/// fetch the pages themselves. [`SubmissionPages`](crate::SubmissionPages) is built on the same
/// decisions.
///
/// Request the page at [`cursor`](Self::cursor) with [`rows_to_request`](Self::rows_to_request) rows,
/// pass it to [`accept`](Self::accept), and repeat until the step is [`PageNext::Finished`].
#[doc(hidden)]
#[derive(Debug)]
pub struct PageWalk(Walk);

/// The decision about one page.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub struct PageStep {
    /// Positions of the rows that earlier pages did not have, ascending.
    pub new_rows: Vec<usize>,
    /// How the list continues.
    pub next: PageNext,
    /// Set once: from now on the result is not proven complete.
    pub fallback: Option<FallbackReason>,
}

/// How a list continues after a page.
#[doc(hidden)]
#[derive(Debug)]
#[non_exhaustive]
pub enum PageNext {
    /// Request the next page.
    Continue,
    /// Discard this page and request again with the current cursor.
    Retry,
    /// The list is complete.
    Finished,
    /// The list ends with an error after the new rows of this page.
    Failed(Error),
}

impl PageWalk {
    /// Starts at a cursor, or at the newest submission.
    pub fn new(start: Option<Cursor>) -> Self {
        Self(Walk::start(start))
    }

    /// See [`SubmissionQuery::allow_incomplete`](crate::SubmissionQuery::allow_incomplete).
    #[must_use]
    pub fn allow_incomplete(self, allow: bool) -> Self {
        Self(self.0.allow_incomplete(allow))
    }

    /// The cursor of the next request; `None` for the newest page.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.0.cursor()
    }

    /// The rows to request next: the page size, but at least two where the page must begin with a
    /// row that is already known.
    pub fn rows_to_request(&self, page_size: u32) -> u32 {
        self.0.rows_to_request(page_size)
    }

    /// Takes a page: the id of each row and its `created_at` in microseconds since 1970, newest first.
    pub fn accept<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r str, i64)> + Clone,
        pagination: &Pagination,
    ) -> PageStep {
        let outcome = self.0.accept(rows, pagination);
        let is_new = |at: &usize| outcome.duplicates.binary_search(at).is_err();
        PageStep {
            new_rows: (0..outcome.rows_in_order).filter(is_new).collect(),
            next: match outcome.next {
                NextStep::Continue => PageNext::Continue,
                NextStep::Retry => PageNext::Retry,
                NextStep::Finished => PageNext::Finished,
                NextStep::Failed(error) => PageNext::Failed(paging_error(error).into()),
            },
            fallback: fallback(outcome.warning),
        }
    }

    /// Takes an error of the request. Returns the step if the request can be repeated with another
    /// cursor, because the service refused one that it had not issued.
    pub fn refused(&mut self, error: &Error) -> Option<PageStep> {
        if !refuses_cursor(error) {
            return None;
        }
        let outcome = self.0.refused()?;
        let fallback = fallback(outcome.warning);
        Some(PageStep { new_rows: Vec::new(), next: PageNext::Retry, fallback })
    }

    /// Whether the rows so far are all that the service has.
    pub fn completeness(&self) -> Completeness {
        self.0.completeness()
    }

    /// The units of which rows may be missing; empty unless these are allowed.
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.0.overflows()
    }
}

fn fallback(warning: Option<PagingWarning>) -> Option<FallbackReason> {
    match warning {
        Some(PagingWarning::FellBack(reason)) => Some(reason),
        _ => None,
    }
}
