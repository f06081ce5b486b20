//! Decides which rows of a page are new and where the list continues. Pure: pages in, decisions out.
//!
//! Guarantee: every submission id is yielded exactly once, or the walk ends with an error. This
//! relies on two properties of the service (SPEC §4): lists are newest first, and an id always has
//! the same time and content. A row older than all rows before it is new. A row that was on the
//! previous page, or that shares the oldest time seen so far and was already yielded, is a duplicate
//! and is dropped. Any other row violates the order and ends the walk.

use std::collections::HashSet;

use formsvc_protocol::{Cursor, Pagination};
use serde::{Deserialize, Serialize};

use super::report::refuses_cursor;
use super::tie::{SeenRow, TieGuard, Verdict};
use crate::completeness::{Completeness, FallbackReason, TieOverflow};
use crate::error::Error;
use crate::event::ClientEvent;

/// Consecutive pages without a new row after which the list counts as stuck.
const MAX_IDLE_PAGES: usize = 100;

/// Most ids that are kept to recognize repeated rows. A service that gives all rows one time would
/// require any number.
const MAX_KNOWN_IDS: usize = 100_000;

/// Rows that a request with the walk's own cursor must have room for: a known one and a new one.
const MIN_ROWS_WITH_KNOWN: u32 = 2;

type IdSet = HashSet<Box<str>>;

/// A walk through one list. Public for programs that fetch the pages themselves: request the page at
/// [`cursor`](Self::cursor) with [`rows_to_request`](Self::rows_to_request) rows, pass it to
/// [`accept`](Self::accept), and repeat until the step is [`NextStep::Finished`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Walk {
    /// The service's cursor of the next page.
    cursor: Option<Cursor>,
    /// Time of the oldest row so far.
    oldest: Option<i64>,
    /// Ids of the last page that had rows.
    page: IdSet,
    /// Ids of the page before it, and of earlier pages while all rows have the oldest time.
    earlier: IdSet,
    /// Ids of the resume token, and the time of the oldest among them.
    resumed: IdSet,
    resumed_oldest: Option<i64>,
    /// Whether the last page had no row, so that `page` belongs to the page before it.
    page_was_empty: bool,
    /// Whether the last page left the oldest time unchanged.
    tie_continues: bool,
    /// The position from which the last page was requested.
    requested: ListPosition,
    /// The cursor sent for the last page.
    sent: Option<Cursor>,
    ties: TieGuard,
    /// Cursors sent since the last new row.
    idle_cursors: Vec<Option<Cursor>>,
}

/// A position in a list: the service's cursor and the oldest time seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListPosition {
    pub(crate) cursor: Option<Cursor>,
    pub(crate) oldest: Option<i64>,
}

/// The walk's decision about one page.
#[doc(hidden)]
#[derive(Debug, PartialEq)]
pub struct PageOutcome {
    /// Positions of the rows that earlier pages did not have, ascending.
    pub new_rows: Vec<usize>,
    /// Number of rows that earlier pages had.
    pub(crate) duplicates: usize,
    pub next: NextStep,
    /// The reason why rows could be missing.
    pub(crate) warning: Option<ClientEvent>,
}

/// How the walk continues after a page.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Request the next page.
    Continue,
    /// Discard this page and request again with the current cursor.
    Retry,
    /// The list is complete.
    Finished,
    /// The list ends with an error after the new rows of this page.
    Failed(PagingError),
}

/// Why the walk cannot continue.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PagingError {
    /// The list claims to have more, but no cursor leads there, for this reason.
    Stuck(&'static str),
    /// The row at this position is newer than the one before it.
    OutOfOrder(usize),
    /// Rows of a unit of the cursor may be missing.
    TieOverflow(TieOverflow),
    /// More rows share one time than ids are kept.
    TooManyTies,
}

/// Why no cursor leads to the rest of the list.
pub(crate) const NO_CURSOR: &str = "the list has more but no `next_cursor`";
/// The cursor was already sent for this page, or since the last new row.
pub(crate) const CIRCLE: &str = "the list goes in circles: `next_cursor` repeats";
pub(crate) const IDLE: &str = "the list has more, but 100 pages brought no new row";
pub(crate) const REFUSED: &str = "the service refuses its own `next_cursor`";

impl Walk {
    /// Starts at a cursor, or at the newest row.
    pub fn new(cursor: Option<Cursor>) -> Self {
        Self {
            cursor,
            oldest: None,
            page: IdSet::default(),
            earlier: IdSet::default(),
            resumed: IdSet::default(),
            resumed_oldest: None,
            page_was_empty: false,
            tie_continues: false,
            requested: ListPosition::default(),
            sent: None,
            ties: TieGuard::new(),
            idle_cursors: Vec::new(),
        }
    }

    /// Continues another walk that had yielded the `seen` ids, the oldest of them at `seen_oldest`.
    pub(crate) fn resume<'i>(
        position: ListPosition,
        seen: impl Iterator<Item = &'i str>,
        seen_oldest: Option<i64>,
    ) -> Self {
        let ListPosition { cursor, oldest } = position;
        let ties = match (&cursor, oldest) {
            (Some(cursor), Some(oldest)) => TieGuard::resume(cursor, oldest),
            _ => TieGuard::new(),
        };
        let resumed = seen.map(Box::from).collect();
        Self { oldest, resumed, resumed_oldest: seen_oldest, ties, ..Self::new(cursor) }
    }

    /// Continues after units of which rows may be missing, instead of failing there.
    #[must_use]
    pub fn allow_incomplete(mut self, allow: bool) -> Self {
        self.ties.allow_incomplete(allow);
        self
    }

    /// The cursor of the next request.
    pub fn cursor(&self) -> Option<&Cursor> {
        self.ties.own().or(self.cursor.as_ref())
    }

    /// The `limit` of the next request.
    pub fn rows_to_request(&self, page_size: u32) -> u32 {
        if self.ties.expects_known_row() { page_size.max(MIN_ROWS_WITH_KNOWN) } else { page_size }
    }

    pub(crate) fn completeness(&self) -> Completeness {
        self.ties.completeness()
    }

    /// The units of which rows may be missing.
    pub fn tie_overflows(&self) -> &[TieOverflow] {
        self.ties.overflows()
    }

    /// The position of the next page.
    pub(crate) fn position(&self) -> ListPosition {
        ListPosition { cursor: self.cursor.clone(), oldest: self.oldest }
    }

    /// The position of the last page.
    pub(crate) fn position_before(&self) -> &ListPosition {
        &self.requested
    }

    /// Ids of rows that the next page may repeat.
    pub(crate) fn known(&self) -> impl Iterator<Item = &str> {
        let tied = Some(&self.earlier).filter(|_| self.tie_continues);
        let resumed = Some(&self.resumed).filter(|_| !self.is_past_resumed());
        resumed.into_iter().chain(tied).chain([&self.page]).flatten().map(|id| &**id)
    }

    /// Ids of earlier pages' rows that the last page may repeat.
    pub(crate) fn known_before(&self) -> impl Iterator<Item = &str> {
        let page = Some(&self.page).filter(|_| self.page_was_empty);
        [&self.resumed, &self.earlier].into_iter().chain(page).flatten().map(|id| &**id)
    }

    /// Ids of rows that the last page may repeat if it is requested again.
    pub(crate) fn known_once_more(&self) -> impl Iterator<Item = &str> {
        let page = Some(&self.page).filter(|_| !self.page_was_empty);
        self.known_before().chain(page.into_iter().flatten().map(|id| &**id))
    }

    /// The time below which no known row can be repeated, if the last row yielded was at `yielded`.
    pub(crate) fn known_oldest(&self, yielded: Option<i64>) -> Option<i64> {
        let resumed = self.resumed_oldest.filter(|_| !self.resumed.is_empty());
        yielded.into_iter().chain(resumed).min()
    }

    /// Time of the oldest row so far.
    pub(crate) fn oldest(&self) -> Option<i64> {
        self.oldest
    }

    /// Takes the response to the last request: id and time of each row, and the pagination object.
    pub fn accept<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r str, i64)> + Clone,
        pagination: &Pagination,
    ) -> PageOutcome {
        let mut outcome = PageOutcome::new(NextStep::Continue);
        let seen = rows.clone().map(|(id, time)| SeenRow { time, known: self.is_known(id) });
        // Collected, because the judgement changes the walk that `seen` borrows.
        let seen: Vec<SeenRow> = seen.collect();
        let verdict = self.ties.judge(seen.into_iter(), pagination.has_more);
        if !self.apply_verdict(verdict, &mut outcome) {
            return outcome;
        }
        let Some(any_new) = self.sort_out(rows.clone(), &mut outcome) else { return outcome };
        outcome.next = self.next_step(any_new, pagination);
        if outcome.next == NextStep::Continue {
            let all = rows.map(|(_, time)| time);
            let is_new = |(at, _): &(usize, i64)| outcome.new_rows.binary_search(at).is_ok();
            let new = all.clone().enumerate().filter(is_new).map(|(_, time)| time);
            let fallback = self.ties.advance(all, new, pagination);
            outcome.warning =
                outcome.warning.take().or(fallback.map(|reason| ClientEvent::Fallback { reason }));
        }
        outcome
    }

    /// Takes an error of the last request. Returns the step if the request can be repeated with
    /// another cursor, because the service refused one that it had not issued.
    pub fn refused(&mut self, error: &Error) -> Option<PageOutcome> {
        if refuses_cursor(error) { self.retry_refused() } else { None }
    }

    pub(super) fn retry_refused(&mut self) -> Option<PageOutcome> {
        let verdict = self.ties.refused()?;
        let mut outcome = PageOutcome::new(NextStep::Retry);
        self.apply_verdict(verdict, &mut outcome);
        Some(outcome)
    }

    /// Separates new rows from known ones. Returns whether any was new, or `None` when they break the
    /// order.
    fn sort_out<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r str, i64)>,
        outcome: &mut PageOutcome,
    ) -> Option<bool> {
        self.sent = self.cursor().cloned();
        self.requested = self.position();
        let mut any_row = false;
        for (at, (id, time)) in rows.enumerate() {
            if !std::mem::replace(&mut any_row, true) {
                self.open_page();
            }
            let known = self.is_known_before(id);
            let newer = self.oldest.is_some_and(|oldest| time > oldest);
            if newer && !known && !self.page.contains(id) {
                outcome.next = NextStep::Failed(PagingError::OutOfOrder(at));
                return None;
            }
            if !self.page.insert(id.into()) || known {
                outcome.duplicates += 1;
            } else {
                outcome.new_rows.push(at);
            }
            // Also of known rows: the next cursor is the time of the page's last row.
            self.oldest = Some(self.oldest.map_or(time, |oldest| oldest.min(time)));
        }
        self.page_was_empty = !any_row;
        if any_row {
            let before = self.requested.oldest;
            self.tie_continues = before.is_some() && self.oldest == before;
        }
        Some(!outcome.new_rows.is_empty())
    }

    /// Returns whether the page counts.
    fn apply_verdict(&mut self, verdict: Verdict, outcome: &mut PageOutcome) -> bool {
        match verdict {
            Verdict::Accept => return true,
            Verdict::Retry => {}
            Verdict::FallBack(reason) => outcome.warning = Some(ClientEvent::Fallback { reason }),
            Verdict::Overflow(overflow) => {
                outcome.warning = Some(ClientEvent::TieOverflow(overflow));
                if self.ties.continues_after_overflow() {
                    return true;
                }
                outcome.next = NextStep::Failed(PagingError::TieOverflow(overflow));
                return false;
            }
        }
        self.cursor = self.ties.service().cloned();
        outcome.next = NextStep::Retry;
        false
    }

    /// Whether an earlier page had the row.
    fn is_known(&self, id: &str) -> bool {
        self.is_known_before(id) || self.page.contains(id)
    }

    fn is_known_before(&self, id: &str) -> bool {
        self.earlier.contains(id) || self.resumed.contains(id)
    }

    /// Whether rows of the resume token would now break the order, and need no id to be recognized.
    fn is_past_resumed(&self) -> bool {
        self.oldest.zip(self.resumed_oldest).is_some_and(|(oldest, resumed)| oldest < resumed)
    }

    /// Starts the ids of a page, and drops those that can no longer be repeated.
    fn open_page(&mut self) {
        if !self.tie_continues {
            self.earlier.clear();
        }
        if self.is_past_resumed() {
            self.resumed.clear();
        }
        self.earlier.extend(self.page.drain());
    }

    fn next_step(&mut self, any_new: bool, pagination: &Pagination) -> NextStep {
        if any_new {
            self.idle_cursors.clear();
        } else {
            self.idle_cursors.push(self.sent.clone());
        }
        if !pagination.has_more {
            return NextStep::Finished;
        }
        let Some(next) = &pagination.next_cursor else {
            return NextStep::Failed(PagingError::Stuck(NO_CURSOR));
        };
        let known = self.resumed.len() + self.earlier.len() + self.page.len();
        if self.tie_continues && known > MAX_KNOWN_IDS {
            return NextStep::Failed(PagingError::TooManyTies);
        }
        let next = Some(next);
        let circle = self.sent.as_ref() == next
            || self.idle_cursors.iter().any(|used| used.as_ref() == next);
        if circle {
            return NextStep::Failed(PagingError::Stuck(CIRCLE));
        }
        if self.idle_cursors.len() >= MAX_IDLE_PAGES {
            return NextStep::Failed(PagingError::Stuck(IDLE));
        }
        self.cursor = next.cloned();
        NextStep::Continue
    }
}

impl PageOutcome {
    fn new(next: NextStep) -> Self {
        Self { new_rows: Vec::new(), duplicates: 0, next, warning: None }
    }

    /// Set once: from now on the result is not proven complete.
    pub fn fallback(&self) -> Option<FallbackReason> {
        match self.warning {
            Some(ClientEvent::Fallback { reason }) => Some(reason),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
