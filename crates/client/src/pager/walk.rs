//! The walk from page to page: which rows of a page are new, and where the list goes on. Pure;
//! pages go in, decisions come out.
//!
//! What it holds to: in whatever pages a service cuts its list, every id is handed on once, or the
//! walk ends with a reason. That rests on the list being newest first (SPEC §4), and on an id having
//! one time and one row: of two rows with one id the first is taken, and a row that comes again
//! with an older time is taken for another. A row older than everything so far
//! is new; a row that is known from the page before is a duplicate and dropped; so is one known
//! from the rows that share the oldest time so far, however many pages those span; any other row
//! breaks the order, and the walk ends.

use formsvc_protocol::{Cursor, Pagination};

use super::id_set::{IdHash, IdSet};
use super::tie::{FallbackReason, Judged, OnTieStorm, Storm, TieSafe, TieStorm, Verdict};

/// Pages without a new row after which a list that claims to have more is stuck.
const IDLE_PAGES_MAX: usize = 100;

/// Most ids that are kept because their rows may come again. A service whose rows all have one time
/// would make it any number.
const KNOWN_MAX: usize = 100_000;

/// A walk through one list.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    hasher: IdHash,
    /// The cursor to ask with.
    cursor: Option<Cursor>,
    /// Time of the oldest row so far.
    oldest: Option<i64>,
    /// Ids of the last page that had rows.
    page: IdSet,
    /// Ids of the page before it.
    before: IdSet,
    /// Ids of yet earlier pages whose rows share the oldest time.
    tied: IdSet,
    /// Ids a resumed walk was told of, and the time of the oldest among them.
    told: IdSet,
    told_oldest: Option<i64>,
    /// Whether the last page had no row, so that its ids are still those of the page before.
    page_was_empty: bool,
    /// Whether the last page left the oldest time as it was.
    tie_goes_on: bool,
    /// Where the walk stood when it asked for the last page.
    asked: Place,
    /// The cursor it asked with.
    sent: Option<Cursor>,
    /// How it keeps rows that share a millisecond, if it does.
    ties: Option<TieSafe>,
    idle_cursors: Vec<Option<Cursor>>,
}

/// Where a walk stands, without the ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cursor: Option<Cursor>,
    pub(crate) oldest: Option<i64>,
}

/// What a page means for the walk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Rows to look at, from the first; the one after them broke the order.
    pub(crate) rows: usize,
    /// Which of them are duplicates, ascending.
    pub(crate) duplicates: Vec<usize>,
    pub(crate) then: Then,
    /// What somebody should hear of.
    pub(crate) notice: Option<Notice>,
}

/// Something that happened on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The walk goes on by the service's cursors alone.
    FellBack(FallbackReason),
    /// Rows of a millisecond may be missing.
    Storm(Storm),
}

/// How it goes on after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Ask for the next page.
    More,
    /// The page does not count: ask again, with the cursor that the walk has now.
    Again,
    /// The list is complete.
    End,
    /// Nowhere.
    Failed(Fault),
}

/// Why a page leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The list claims to have more, but there is no way on.
    Stuck(Stuck),
    /// The row after the last good one is newer than the one before it.
    OutOfOrder,
    /// The rows of a millisecond cannot be told apart.
    TieStorm(Storm),
    /// More rows share one time than ids are kept.
    Crowd,
}

/// Why there is no way on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// No cursor to go on with.
    NoCursor,
    /// The cursor is the one just asked with, or one asked with since the last new row.
    Circle,
    /// Too many pages in a row without a new row.
    Idle,
    /// The service refuses the cursor that it gave.
    Refused,
}

impl Walk {
    /// A walk from a cursor, or from the newest row.
    pub(crate) fn start(cursor: Option<Cursor>) -> Self {
        Self { cursor, ..Self::default() }
    }

    /// A walk that goes on where another stopped, which had handed on the `seen` ids, the oldest
    /// of them at `seen_oldest`.
    pub(crate) fn resume<'i>(
        place: Place,
        seen: impl Iterator<Item = &'i str>,
        seen_oldest: Option<i64>,
    ) -> Self {
        let Place { cursor, oldest } = place;
        let mut walk = Self { cursor, oldest, told_oldest: seen_oldest, ..Self::default() };
        for id in seen {
            walk.told.insert(walk.hasher.hash(id), id);
        }
        walk
    }

    /// The same walk, keeping rows that share a millisecond.
    pub(crate) fn tie_safe(mut self, on_storm: OnTieStorm) -> Self {
        self.ties = Some(TieSafe::new(on_storm, self.cursor.as_ref(), self.oldest));
        self
    }

    /// The cursor to ask for the next page with.
    pub(crate) fn cursor(&self) -> Option<&Cursor> {
        let own = self.ties.as_ref().and_then(TieSafe::own);
        own.or(self.cursor.as_ref())
    }

    /// The milliseconds whose rows may not be complete.
    pub(crate) fn storms(&self) -> &[TieStorm] {
        self.ties.as_ref().map_or(&[], TieSafe::storms)
    }

    /// Where the walk stands, to resume at the next page.
    pub(crate) fn place(&self) -> Place {
        Place { cursor: self.cursor.clone(), oldest: self.oldest }
    }

    /// Where the walk stood before the last page, to resume within it.
    pub(crate) fn place_before(&self) -> &Place {
        &self.asked
    }

    /// Ids whose rows may come again on the next page.
    pub(crate) fn known(&self) -> impl Iterator<Item = &str> {
        let tied = [&self.tied, &self.before].into_iter().filter(|_| self.tie_goes_on);
        let told = Some(&self.told).filter(|_| !self.is_past_told());
        told.into_iter()
            .flat_map(IdSet::iter)
            .chain(tied.flat_map(IdSet::iter))
            .chain(self.page.iter())
    }

    /// Ids, other than its own, whose rows may come again on the last page.
    pub(crate) fn known_before(&self) -> impl Iterator<Item = &str> {
        let page = Some(&self.page).filter(|_| self.page_was_empty);
        let earlier = self.tied.iter().chain(self.before.iter());
        self.told.iter().chain(earlier).chain(page.into_iter().flat_map(IdSet::iter))
    }

    /// Ids whose rows may come again when the last page is asked for once more.
    pub(crate) fn known_once_more(&self) -> impl Iterator<Item = &str> {
        let page = Some(&self.page).filter(|_| !self.page_was_empty);
        self.known_before().chain(page.into_iter().flat_map(IdSet::iter))
    }

    /// The time below which no known id can come again, when the last row handed on was at
    /// `handed_on`.
    pub(crate) fn known_oldest(&self, handed_on: Option<i64>) -> Option<i64> {
        let told = self.told_oldest.filter(|_| !self.told.is_empty());
        handed_on.into_iter().chain(told).min()
    }

    /// Time of the oldest row so far.
    pub(crate) fn oldest(&self) -> Option<i64> {
        self.oldest
    }

    /// Takes the page that the cursor brought: id and time of each row, and the pagination object.
    pub(crate) fn turn<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r str, i64)> + Clone,
        pagination: &Pagination,
    ) -> Turn {
        let mut turn = Turn { rows: 0, duplicates: Vec::new(), then: Then::More, notice: None };
        if let Some(then) = self.judge(rows.clone(), pagination, &mut turn) {
            turn.then = then;
            return turn;
        }
        let Some(any_new) = self.sift(rows.clone(), &mut turn) else { return turn };
        turn.then = self.next(any_new, pagination);
        if let (Then::More, Some(ties)) = (turn.then, &mut self.ties) {
            let all = rows.map(|(_, time)| time);
            let is_fresh = |(at, _): &(usize, i64)| turn.duplicates.binary_search(at).is_err();
            let fresh = all.clone().enumerate().filter(is_fresh).map(|(_, time)| time);
            ties.advance(all, fresh, pagination);
        }
        turn
    }

    /// Tells new rows from known ones; whether any was new, or `None` when they break the order.
    fn sift<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r str, i64)>,
        turn: &mut Turn,
    ) -> Option<bool> {
        self.sent = self.cursor().cloned();
        self.asked = self.place();
        let mut fresh = None;
        for (id, time) in rows {
            if turn.rows == 0 {
                fresh = Some(false);
                self.open_page();
            }
            let hash = self.hasher.hash(id);
            let known = self.knows(hash, id);
            let newer = self.oldest.is_some_and(|oldest| time > oldest);
            if newer && !known && !self.page.contains(hash, id) {
                turn.then = Then::Failed(Fault::OutOfOrder);
                return None;
            }
            if !self.page.insert(hash, id) || known {
                turn.duplicates.push(turn.rows);
            } else {
                fresh = Some(true);
                self.oldest = Some(time);
            }
            turn.rows += 1;
        }
        self.page_was_empty = fresh.is_none();
        if fresh.is_some() {
            self.tie_goes_on = self.asked.oldest.is_some() && self.oldest == self.asked.oldest;
        }
        Some(fresh == Some(true))
    }

    /// The request was refused; `None` when there is no other way to ask.
    pub(crate) fn refused(&mut self) -> Option<Turn> {
        let verdict = self.ties.as_mut()?.refused()?;
        let mut turn = Turn { rows: 0, duplicates: Vec::new(), then: Then::Again, notice: None };
        self.heed(verdict, &mut turn);
        Some(turn)
    }

    /// Whether the page counts; how it goes on when it does not.
    fn judge<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r str, i64)> + Clone,
        pagination: &Pagination,
        turn: &mut Turn,
    ) -> Option<Then> {
        let mut ties = self.ties.take()?;
        let known = |id: &str| {
            let hash = self.hasher.hash(id);
            self.knows(hash, id) || self.page.contains(hash, id)
        };
        let judged = rows.map(|(id, time)| Judged { id, time, known: known(id) });
        let verdict = ties.judge(judged, pagination.has_more);
        self.ties = Some(ties);
        self.heed(verdict, turn)
    }

    fn heed(&mut self, verdict: Verdict, turn: &mut Turn) -> Option<Then> {
        let ties = self.ties.as_ref()?;
        let back = match verdict {
            Verdict::Good => return None,
            Verdict::Again => ties.service(),
            Verdict::FellBack(why) => {
                turn.notice = Some(Notice::FellBack(why));
                ties.service()
            }
            Verdict::Storm(storm) => {
                turn.notice = Some(Notice::Storm(storm));
                let fails = !ties.goes_on_after_storms();
                return fails.then_some(Then::Failed(Fault::TieStorm(storm)));
            }
        };
        self.cursor = back.cloned();
        Some(Then::Again)
    }

    fn knows(&self, hash: u64, id: &str) -> bool {
        self.before.contains(hash, id)
            || self.tied.contains(hash, id)
            || self.told.contains(hash, id)
    }

    /// Whether rows of the told ids would now break the order, and be noticed that way.
    fn is_past_told(&self) -> bool {
        self.oldest.zip(self.told_oldest).is_some_and(|(oldest, told)| oldest < told)
    }

    /// Makes room for the ids of a page, and forgets those that can no longer come again.
    fn open_page(&mut self) {
        if self.tie_goes_on {
            self.tied.absorb(&self.before);
        } else {
            self.tied.clear();
        }
        if self.is_past_told() {
            self.told.clear();
        }
        std::mem::swap(&mut self.page, &mut self.before);
        self.page.clear();
    }

    fn next(&mut self, any_new: bool, pagination: &Pagination) -> Then {
        if any_new {
            self.idle_cursors.clear();
        } else {
            self.idle_cursors.push(self.sent.clone());
        }
        if !pagination.has_more {
            return Then::End;
        }
        let Some(next) = &pagination.next_cursor else {
            return Then::Failed(Fault::Stuck(Stuck::NoCursor));
        };
        let known = [&self.told, &self.tied, &self.before, &self.page].map(IdSet::len);
        if self.tie_goes_on && known.iter().sum::<usize>() > KNOWN_MAX {
            return Then::Failed(Fault::Crowd);
        }
        let next = Some(next);
        let circle = self.sent.as_ref() == next
            || self.idle_cursors.iter().any(|used| used.as_ref() == next);
        if circle {
            return Then::Failed(Fault::Stuck(Stuck::Circle));
        }
        if self.idle_cursors.len() >= IDLE_PAGES_MAX {
            return Then::Failed(Fault::Stuck(Stuck::Idle));
        }
        self.cursor = next.cloned();
        Then::More
    }
}

impl Fault {
    /// Whether the rows before it are a good page, so that one page alone can be handed on.
    pub(crate) fn comes_after_the_page(self) -> bool {
        matches!(self, Self::Stuck(_) | Self::Crowd)
    }
}

impl Stuck {
    /// What failed, for a person.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::NoCursor => "the list has more but no `next_cursor`",
            Self::Circle => "the list goes in circles: `next_cursor` repeats",
            Self::Refused => "the service refuses the `next_cursor` that it gave",
            Self::Idle => "the list has more, but 100 pages brought no new row",
        }
    }
}

#[cfg(test)]
mod tests;
