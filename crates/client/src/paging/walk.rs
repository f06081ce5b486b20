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

use super::tie::{Completeness, FallbackReason, SeenRow, TieGuard, TieOverflow, Verdict};

/// Consecutive pages without a new row after which the list counts as stuck.
const MAX_IDLE_PAGES: usize = 100;

/// Most ids that are kept to recognize repeated rows. A service that gives all rows one time would
/// require any number.
const MAX_KNOWN_IDS: usize = 100_000;

/// Rows that a request with the walk's own cursor must have room for: a known one and a new one.
const MIN_ROWS_WITH_KNOWN: u32 = 2;

type IdSet = HashSet<Box<str>>;

/// A walk through one list.
#[derive(Debug)]
pub(crate) struct Walk {
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
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PageOutcome {
    /// Number of leading rows that are in order.
    pub(crate) rows_in_order: usize,
    /// Which of them are duplicates, ascending.
    pub(crate) duplicates: Vec<usize>,
    pub(crate) next: NextStep,
    pub(crate) warning: Option<PagingWarning>,
}

/// A reason why rows could be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagingWarning {
    FellBack(FallbackReason),
    Overflow(TieOverflow),
}

/// How the walk continues after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// Request the next page.
    Continue,
    /// Discard this page and request again with the current cursor.
    Retry,
    /// The list is complete.
    Finished,
    Failed(PagingError),
}

/// Why the walk cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagingError {
    /// The list claims to have more, but no cursor leads there.
    Stuck(Stuck),
    /// The row after the last good one is newer than the one before it.
    OutOfOrder,
    /// Rows of a unit of the cursor may be missing.
    TieOverflow(TieOverflow),
    /// More rows share one time than ids are kept.
    TooManyTies,
}

/// Why no cursor leads to the rest of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    NoCursor,
    /// The cursor was already sent for this page, or since the last new row.
    Circle,
    /// Too many consecutive pages without a new row.
    Idle,
    /// The service refuses its own cursor.
    Refused,
}

impl Walk {
    /// Starts at a cursor, or at the newest row.
    pub(crate) fn start(cursor: Option<Cursor>) -> Self {
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
        Self { oldest, resumed, resumed_oldest: seen_oldest, ties, ..Self::start(cursor) }
    }

    /// Continues after units of which rows may be missing, instead of failing there.
    pub(crate) fn allow_incomplete(mut self, allow: bool) -> Self {
        self.ties.allow_incomplete(allow);
        self
    }

    /// The cursor of the next request.
    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        self.ties.own().or(self.cursor.as_ref())
    }

    /// The `limit` of the next request.
    pub(crate) fn rows_to_request(&self, page_size: u32) -> u32 {
        if self.ties.expects_known_row() { page_size.max(MIN_ROWS_WITH_KNOWN) } else { page_size }
    }

    pub(crate) fn completeness(&self) -> Completeness {
        self.ties.completeness()
    }

    /// The units of which rows may be missing.
    pub(crate) fn overflows(&self) -> &[TieOverflow] {
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

    /// Takes the answer to the last request: id and time of each row, and the pagination object.
    pub(crate) fn accept<'r>(
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
            let is_new = |(at, _): &(usize, i64)| outcome.duplicates.binary_search(at).is_err();
            let new = all.clone().enumerate().filter(is_new).map(|(_, time)| time);
            let fallback = self.ties.advance(all, new, pagination);
            outcome.warning = outcome.warning.or(fallback.map(PagingWarning::FellBack));
        }
        outcome
    }

    /// The service refused the last request; `None` when no other cursor can be tried.
    pub(crate) fn refused(&mut self) -> Option<PageOutcome> {
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
        let (mut any_row, mut any_new) = (false, false);
        for (id, time) in rows {
            if !std::mem::replace(&mut any_row, true) {
                self.open_page();
            }
            let known = self.is_known_before(id);
            let newer = self.oldest.is_some_and(|oldest| time > oldest);
            if newer && !known && !self.page.contains(id) {
                outcome.next = NextStep::Failed(PagingError::OutOfOrder);
                return None;
            }
            if !self.page.insert(id.into()) || known {
                outcome.duplicates.push(outcome.rows_in_order);
            } else {
                any_new = true;
            }
            // Also of known rows: the next cursor is the time of the page's last row.
            self.oldest = Some(self.oldest.map_or(time, |oldest| oldest.min(time)));
            outcome.rows_in_order += 1;
        }
        self.page_was_empty = !any_row;
        if any_row {
            let before = self.requested.oldest;
            self.tie_continues = before.is_some() && self.oldest == before;
        }
        Some(any_new)
    }

    /// Returns whether the page counts.
    fn apply_verdict(&mut self, verdict: Verdict, outcome: &mut PageOutcome) -> bool {
        match verdict {
            Verdict::Accept => return true,
            Verdict::Retry => {}
            Verdict::FallBack(reason) => outcome.warning = Some(PagingWarning::FellBack(reason)),
            Verdict::Overflow(overflow) => {
                outcome.warning = Some(PagingWarning::Overflow(overflow));
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
            return NextStep::Failed(PagingError::Stuck(Stuck::NoCursor));
        };
        let known = self.resumed.len() + self.earlier.len() + self.page.len();
        if self.tie_continues && known > MAX_KNOWN_IDS {
            return NextStep::Failed(PagingError::TooManyTies);
        }
        let next = Some(next);
        let circle = self.sent.as_ref() == next
            || self.idle_cursors.iter().any(|used| used.as_ref() == next);
        if circle {
            return NextStep::Failed(PagingError::Stuck(Stuck::Circle));
        }
        if self.idle_cursors.len() >= MAX_IDLE_PAGES {
            return NextStep::Failed(PagingError::Stuck(Stuck::Idle));
        }
        self.cursor = next.cloned();
        NextStep::Continue
    }
}

impl PageOutcome {
    fn new(next: NextStep) -> Self {
        Self { rows_in_order: 0, duplicates: Vec::new(), next, warning: None }
    }
}

impl Stuck {
    /// The message of the error.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::NoCursor => "the list has more but no `next_cursor`",
            Self::Circle => "the list goes in circles: `next_cursor` repeats",
            Self::Refused => "the service refuses its own `next_cursor`",
            Self::Idle => "the list has more, but 100 pages brought no new row",
        }
    }
}

#[cfg(test)]
mod tests;
