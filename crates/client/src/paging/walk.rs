//! Decides which rows of a page are new, and how the list continues. Pure: pages in, decisions out.
//!
//! Guarantee: the walk reports every row exactly once, or it ends with an error. This relies on two
//! properties of the service (SPEC §4): a list is newest first, and an id always has the same time and
//! content. For each row of a page there are three cases:
//!
//! 1. The row was received before: it is a duplicate, and is dropped. [`KnownRows`] recognizes the rows of
//!    the page before, and all rows that share the oldest time so far.
//! 2. The row is not newer than the oldest time so far: it is new.
//! 3. The row is newer than that, and unknown: it violates the order, and the walk ends.

use formsvc_protocol::{Cursor, Pagination, Submission};
use serde::{Deserialize, Serialize};

use super::known_rows::{KnownRows, MAX_ROWS_OF_ONE_TIME};
use super::report::refuses_cursor;
use super::tie::{SeenRow, TieGuard, Verdict};
use crate::completeness::{Completeness, TieOverflow};
use crate::error::Error;
use crate::event::FallbackReason;
use crate::row_key::RowKey;

/// Number of consecutive pages without a new row after which the list counts as stuck.
const MAX_IDLE_PAGES: usize = 100;

/// Smallest page for a request with a cursor of the walk's own: its response repeats a known row, and
/// must have room for a new one.
const MIN_ROWS_WITH_KNOWN: u32 = 2;

/// A walk through one list.
#[derive(Debug)]
pub(crate) struct Walk {
    /// The position of the next page.
    position: ListPosition,
    /// The cursor of the last request: that of its position, or one of the walk's own.
    sent: Option<Cursor>,
    known: KnownRows,
    /// Replaces cursors that would lose rows of one time.
    ties: TieGuard,
    /// The cursors sent since the last new row.
    idle_cursors: Vec<Option<Cursor>>,
    /// The limit of rows that share one time.
    max_tied: u64,
}

/// A position in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListPosition {
    /// The service's cursor; `None` at the newest row.
    pub(crate) cursor: Option<Cursor>,
    /// The time of the oldest row so far.
    pub(crate) oldest: Option<i64>,
    /// The number of new rows that had this time.
    pub(crate) tied: u64,
}

/// The state of a walk between two pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WalkState {
    pub(crate) position: ListPosition,
    /// The rows that the next page may repeat.
    pub(crate) seen: Vec<RowKey>,
    /// The time below which none of them is, in microseconds since 1970.
    pub(crate) seen_oldest: Option<i64>,
}

/// A row of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkRow {
    pub(crate) key: RowKey,
    /// Microseconds since 1970.
    pub(crate) time: i64,
}

impl WalkRow {
    pub(super) fn of(row: &Submission) -> Self {
        let (key, time) = (RowKey::of_id(row.id.as_str()), row.created_at.unix_micros());
        Self { key, time }
    }
}

/// The walk's decision about one page.
#[derive(Debug, PartialEq)]
pub(crate) struct PageOutcome {
    /// Positions in the page of the rows that were not received before, ascending.
    pub(crate) new_rows: Vec<usize>,
    /// Number of rows that were received before.
    pub(crate) duplicates: usize,
    pub(crate) next: NextStep,
    /// The reason why rows could be missing.
    pub(crate) warning: Option<PagingWarning>,
}

/// Rows could be missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagingWarning {
    /// From now on, rows that share a time could be.
    Fallback(FallbackReason),
    TieOverflow(TieOverflow),
}

/// How the walk continues after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NextStep {
    /// Request the next page.
    Continue,
    /// Discard this page, and request it again with the walk's new cursor.
    Retry,
    /// The list is complete.
    Finished,
    /// The list ends with an error after the new rows of this page.
    Failed(PagingError),
}

/// Why the walk cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PagingError {
    /// The list has more rows, but no cursor leads to them, for this reason.
    Stuck(&'static str),
    /// The row at this position is newer than the row before it.
    OutOfOrder(usize),
    /// Rows of a unit of the cursor may be missing.
    TieOverflow(TieOverflow),
    /// So many rows share one time that duplicates cannot be recognized any more.
    TooManyTies(TieOverflow),
}

/// Why no cursor leads to the rest of the list.
pub(crate) const NO_CURSOR: &str = "the list has more but no `next_cursor`";
/// The cursor was already sent for this page, or since the last new row.
pub(crate) const CIRCLE: &str = "the list goes in circles: `next_cursor` repeats";
pub(crate) const IDLE: &str = "the list has more, but 100 pages brought no new row";

impl Walk {
    /// Starts at a cursor, or at the newest row.
    pub(crate) fn new(cursor: Option<Cursor>) -> Self {
        Self {
            position: ListPosition { cursor, ..ListPosition::default() },
            sent: None,
            known: KnownRows::default(),
            ties: TieGuard::new(),
            idle_cursors: Vec::new(),
            max_tied: MAX_ROWS_OF_ONE_TIME as u64,
        }
    }

    /// Continues another walk.
    pub(crate) fn resume(WalkState { position, seen, seen_oldest }: WalkState) -> Self {
        let (known, ties) = (KnownRows::resume(seen, seen_oldest), position.tie_guard());
        Self { position, known, ties, ..Self::new(None) }
    }

    /// Returns the state after the last page.
    pub(crate) fn state(&self) -> WalkState {
        let position = self.position.clone();
        let known = &self.known;
        let seen = known.of_token(position.oldest, position.has_own_cursors());
        WalkState { seen, seen_oldest: known.oldest(position.oldest), position }
    }

    /// Continues where rows may be missing or repeated because they share a time, instead of ending with
    /// an error.
    pub(crate) fn set_allow_incomplete(&mut self, allow: bool) {
        self.ties.allow_incomplete(allow);
    }

    /// Returns the cursor of the next request.
    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        self.ties.own().or(self.position.cursor.as_ref())
    }

    /// Returns the `limit` of the next request.
    pub(crate) fn rows_to_request(&self, page_size: u32) -> u32 {
        if self.ties.expects_known_row() { page_size.max(MIN_ROWS_WITH_KNOWN) } else { page_size }
    }

    pub(crate) fn completeness(&self) -> Completeness {
        self.ties.completeness()
    }

    /// Returns the times of which rows may be missing or repeated.
    pub(crate) fn tie_overflows(&self) -> &[TieOverflow] {
        self.ties.overflows()
    }

    /// Returns the position of the next page.
    pub(crate) fn position(&self) -> &ListPosition {
        &self.position
    }

    /// Returns the cursor with which the last page was requested.
    pub(crate) fn last_cursor(&self) -> Option<&Cursor> {
        self.sent.as_ref()
    }

    /// Takes the response to the last request.
    pub(crate) fn accept_rows(&mut self, rows: &[WalkRow], pagination: &Pagination) -> PageOutcome {
        let mut outcome = PageOutcome::new(NextStep::Continue);
        let known = |row: &WalkRow| SeenRow { time: row.time, known: self.known.contains(row.key) };
        let seen: Vec<SeenRow> = rows.iter().map(known).collect();
        let verdict = self.ties.judge(seen.into_iter(), pagination.has_more);
        if !self.apply_verdict(verdict, &mut outcome) || !self.add_rows(rows, &mut outcome) {
            return outcome;
        }
        outcome.next = self.next_step(pagination, &mut outcome);
        if outcome.next == NextStep::Continue {
            let new_times = outcome.new_rows.iter().map(|at| rows[*at].time);
            let all_times = rows.iter().map(|row| row.time);
            let fallback = self.ties.advance(all_times, new_times, pagination);
            let fallback = fallback.map(PagingWarning::Fallback);
            outcome.warning = outcome.warning.take().or(fallback);
        }
        outcome
    }

    /// Takes an error of the last request. Returns the step if the request can be repeated with another
    /// cursor, because the service refused a cursor that it had not issued.
    pub(crate) fn refused(&mut self, error: &Error) -> Option<PageOutcome> {
        if refuses_cursor(error) { self.retry_refused() } else { None }
    }

    pub(super) fn retry_refused(&mut self) -> Option<PageOutcome> {
        let verdict = self.ties.refused()?;
        let mut outcome = PageOutcome::new(NextStep::Retry);
        self.apply_verdict(verdict, &mut outcome);
        Some(outcome)
    }

    /// Executes the decision of the tie guard. Returns whether the rows of the page count.
    fn apply_verdict(&mut self, verdict: Verdict, outcome: &mut PageOutcome) -> bool {
        match verdict {
            Verdict::Accept => return true,
            Verdict::Retry => {}
            Verdict::FallBack(reason) => outcome.warning = Some(PagingWarning::Fallback(reason)),
            Verdict::Overflow(overflow) => {
                outcome.warning = Some(PagingWarning::TieOverflow(overflow));
                if self.ties.continues_after_overflow() {
                    return true;
                }
                outcome.next = NextStep::Failed(PagingError::TieOverflow(overflow));
                return false;
            }
        }
        self.position.cursor = self.ties.service().cloned();
        outcome.next = NextStep::Retry;
        false
    }

    /// Finds the new rows of a page, and moves the position to its last row. Returns false if a row
    /// violates the order.
    fn add_rows(&mut self, rows: &[WalkRow], outcome: &mut PageOutcome) -> bool {
        self.sent = self.cursor().cloned();
        let before = self.position.oldest;
        if !rows.is_empty() {
            self.known.begin_page(before);
        }
        for (at, row) in rows.iter().enumerate() {
            let is_newer = self.position.oldest.is_some_and(|oldest| row.time > oldest);
            if is_newer && !self.known.contains(row.key) {
                outcome.next = NextStep::Failed(PagingError::OutOfOrder(at));
                return false;
            }
            let is_new = self.known.add(row.key);
            if is_new {
                outcome.new_rows.push(at);
            } else {
                outcome.duplicates += 1;
            }
            self.position.add_row(row.time, is_new);
        }
        if !rows.is_empty() {
            self.known.end_page(before.is_some() && self.position.oldest == before);
        }
        true
    }

    /// Decides how the list continues after the rows of a page were added.
    fn next_step(&mut self, pagination: &Pagination, outcome: &mut PageOutcome) -> NextStep {
        if outcome.new_rows.is_empty() {
            self.idle_cursors.push(self.sent.clone());
        } else {
            self.idle_cursors.clear();
        }
        if !pagination.has_more {
            return NextStep::Finished;
        }
        let Some(next) = &pagination.next_cursor else {
            return NextStep::Failed(PagingError::Stuck(NO_CURSOR));
        };
        if let Some(overflow) = self.check_ties() {
            if !self.ties.continues_after_overflow() {
                return NextStep::Failed(PagingError::TooManyTies(overflow));
            }
            outcome.warning = Some(PagingWarning::TieOverflow(overflow));
        }
        let is_sent_again = self.sent.as_ref() == Some(next)
            || self.idle_cursors.iter().any(|sent| sent.as_ref() == Some(next));
        if is_sent_again {
            return NextStep::Failed(PagingError::Stuck(CIRCLE));
        }
        if self.idle_cursors.len() >= MAX_IDLE_PAGES {
            return NextStep::Failed(PagingError::Stuck(IDLE));
        }
        self.position.cursor = Some(next.clone());
        NextStep::Continue
    }

    /// Returns the oldest time, if more rows share it than are recognized when they are repeated. If that
    /// is allowed, the time is returned once.
    fn check_ties(&mut self) -> Option<TieOverflow> {
        let oldest = self.position.oldest.filter(|_| self.position.tied > self.max_tied)?;
        self.ties.too_many_rows(oldest, self.position.tied)
    }
}

impl ListPosition {
    /// Returns the tie guard of a walk that continues here.
    fn tie_guard(&self) -> TieGuard {
        match (&self.cursor, self.oldest) {
            (Some(cursor), Some(oldest)) => TieGuard::resume(cursor, oldest, self.tied),
            _ => TieGuard::new(),
        }
    }

    /// Returns true if a walk that continues here replaces the service's cursor. The response can then begin
    /// with the first row of a unit, several pages ago.
    fn has_own_cursors(&self) -> bool {
        self.tie_guard().own().is_some()
    }

    /// Takes a row of the page. A known row counts too, because the next cursor is the time of the page's
    /// last row.
    fn add_row(&mut self, time: i64, is_new: bool) {
        if self.oldest.is_none_or(|oldest| time < oldest) {
            (self.oldest, self.tied) = (Some(time), 0);
        }
        if is_new && self.oldest == Some(time) {
            self.tied += 1;
        }
    }
}

impl PageOutcome {
    fn new(next: NextStep) -> Self {
        Self { new_rows: Vec::new(), duplicates: 0, next, warning: None }
    }
}

#[cfg(test)]
mod tests;
