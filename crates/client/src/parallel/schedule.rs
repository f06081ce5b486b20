//! Where ranges begin and end, and who is asked next. All of it is guessed from the density seen, and
//! a wrong guess costs a request, never a row.

use super::pace::{density, rows_within, width};
use super::plan::{Phase, Planner, Request, Settings};
use super::range::{Answer, Range, Seam, State};
use crate::pager::{Walk, cursor_at};

/// A range is not opened for fewer pages: the walker above reads them as fast.
const OPEN_PAGES: usize = 2;
/// A walker's rest is not split when it is guessed to be fewer pages.
const SPLIT_PAGES: usize = 4;
/// How many times longer ranges become, at most.
const LONGER: usize = 2;

impl<P: Answer> Planner<P> {
    /// What to ask for now. The newest come first: they are handed on first.
    pub(crate) fn requests(&mut self) -> Vec<Request> {
        if self.has_ended() {
            return Vec::new();
        }
        let mut requests = self.ask_again();
        let front = self.ranges.iter().position(|range| range.state != State::Done);
        let asks_at_first_seam = matches!(self.ranges[0].seam, Seam::Asked { .. });
        for at in 0..self.ranges.len() {
            let range = &self.ranges[at];
            let idle = range.state == State::Open && range.request.is_none();
            // The front never waits for room, so there is always progress; unless the first seam
            // took what there is, and makes it.
            let is_front = Some(at) == front && self.ready.is_empty() && !asks_at_first_seam;
            let room = self.has_room() || is_front;
            if idle && room && self.in_flight < self.settings.walkers {
                requests.push(self.ask(at));
            }
        }
        while self.in_flight < self.settings.walkers
            && self.has_room()
            && let Some(at) = self.open()
        {
            requests.push(self.ask(at));
        }
        requests
    }

    pub(super) fn has_room(&self) -> bool {
        self.held() < self.settings.held
    }

    /// Opens a range for a walker that is free, if it is likely to pay.
    fn open(&mut self) -> Option<usize> {
        if !matches!(self.phase, Phase::On) || self.opens_in_vain() {
            return None;
        }
        let at = match self.waiting_range() {
            Some(at) => at,
            None => self.split()?,
        };
        let bound = self.ranges[at].hi.saturating_mul(1_000);
        let mut walk = Walk::start(Some(cursor_at(bound)));
        if let Some(on_storm) = self.settings.ties {
            walk = walk.tie_safe(on_storm).trusting();
        }
        let range = &mut self.ranges[at];
        (range.state, range.walk) = (State::Open, walk);
        Some(at)
    }

    /// Whether too many requests were of no use, or too little is known yet. So a list of a few pages
    /// is not asked for by many walkers, and data that defies every guess costs speed instead of
    /// requests.
    fn opens_in_vain(&self) -> bool {
        let open = self.ranges.iter().filter(|range| range.state == State::Open).count();
        open >= 2 * self.answered || self.wasted() + self.doubtful() > self.may_waste()
    }

    /// Rows to cut a range for. The more was in vain, the longer the ranges, and the fewer the seams.
    fn range_rows(&self) -> usize {
        let rows = self.settings.range_pages * self.settings.page;
        rows + rows * LONGER * self.wasted() / self.may_waste()
    }

    /// Room for rows in answers that was of no use.
    fn wasted(&self) -> usize {
        (self.answered * self.settings.page).saturating_sub(self.rows)
    }

    fn doubtful(&self) -> usize {
        let d = self.ranges.iter().filter(|r| r.state == State::Open && !r.is_known()).count();
        d.saturating_sub(1) * self.settings.page / 2
    }

    fn may_waste(&self) -> usize {
        let Settings { page, walkers, .. } = self.settings;
        page * (2 + walkers / 2) + self.answered * page / 14
    }

    /// The newest range that nobody has begun and that is worth it, cut to the size of one walker's
    /// work.
    fn waiting_range(&mut self) -> Option<usize> {
        let page = self.settings.page;
        for at in 1..self.ranges.len() {
            let Range { state, lo, hi, .. } = self.ranges[at];
            if state != State::Waiting || hi <= self.settings.begins {
                continue;
            }
            let density = self.density_above(at, false)?;
            if rows_within(hi.saturating_sub(lo), density) < as_rows(OPEN_PAGES * page) {
                continue;
            }
            let wide = width(self.range_rows(), density);
            let cut = hi.saturating_sub(wide).max(self.settings.begins);
            let rest = rows_within(cut.saturating_sub(lo), density);
            if cut > lo && (rest >= as_rows(OPEN_PAGES * page) || lo < self.settings.begins) {
                self.ranges[at].lo = cut;
                self.ranges.insert(at + 1, Range::waiting(lo, cut));
            }
            return Some(at);
        }
        None
    }

    /// Halves the longest rest of a walker, when no range waits.
    fn split(&mut self) -> Option<usize> {
        let rest = |range: &Range<P>| {
            let density = density(range.pace.pages())?;
            let below = range.at?.saturating_sub(range.lo);
            Some(rows_within(below, density))
        };
        let open = self.ranges.iter().enumerate().filter(|(_, r)| r.state == State::Open);
        let rests = open.filter_map(|(at, range)| Some((at, rest(range)?)));
        let (at, rows) = rests.max_by(|a, b| a.1.total_cmp(&b.1))?;
        if rows < as_rows(SPLIT_PAGES * self.settings.page) {
            return None;
        }
        let range = &mut self.ranges[at];
        let (lo, half) = (range.lo, range.at?.midpoint(range.lo));
        if half <= lo {
            return None;
        }
        range.lo = half;
        self.ranges.insert(at + 1, Range::waiting(lo, half));
        Some(at + 1)
    }

    /// The density above a range. A bold guess takes that of the nearest page, if it is higher: where
    /// rows begin to come thick, many walkers are soon among them.
    fn density_above(&self, at: usize, bold: bool) -> Option<f64> {
        let pages = || self.ranges[..at].iter().rev().flat_map(|range| range.pace.pages());
        let nearest = if bold { density(pages().take(1)) } else { None };
        Some(density(pages())?.max(nearest.unwrap_or(0.0)))
    }

    /// An answer reached down to this millisecond: sees to how far its walker goes from here.
    pub(super) fn reach(&mut self, at: usize, last: Option<i64>, has_more: bool) {
        if !has_more {
            self.reach_the_end(at);
            return;
        }
        let Some(last) = last else { return };
        // Rows of ranges that nobody has begun are this walker's for the taking.
        while last < self.ranges[at].lo && self.is_waiting(at + 1) {
            self.move_seam(at, last);
        }
    }

    /// Says how far the walker goes on from its oldest row, made in this millisecond of its range.
    pub(super) fn aim(&mut self, at: usize, last: i64) {
        if !matches!(self.phase, Phase::On) {
            return;
        }
        let Some(density) = self.density_above(at + 1, self.wasted() < self.may_waste() / 2) else {
            return;
        };
        let wide = width(self.range_rows(), density);
        let goal = last.saturating_sub(wide).max(self.settings.floor);
        let lo = self.ranges[at].lo;
        if self.is_waiting(at + 1) {
            self.move_seam(at, goal);
        } else if goal > lo {
            self.ranges[at].lo = goal;
            self.ranges.insert(at + 1, Range::waiting(lo, goal));
        }
    }

    /// The service says that nothing is older than this answer. So it covers the ranges below that
    /// nobody has read of, down to the first that somebody has: that one and those below it go on, as
    /// its rows are not this walker's.
    fn reach_the_end(&mut self, at: usize) {
        let below = &self.ranges[at + 1..];
        let covered = below.iter().position(Range::is_known).unwrap_or(below.len());
        self.ranges.drain(at + 1..at + 1 + covered);
        self.ranges[at].lo = self.ranges.get(at + 1).map_or(self.settings.floor, |next| next.hi);
    }

    fn is_waiting(&self, at: usize) -> bool {
        self.ranges.get(at).is_some_and(|range| range.state == State::Waiting)
    }

    /// Moves the seam between a range and the one below it, which waits.
    fn move_seam(&mut self, at: usize, to: i64) {
        let lower = &mut self.ranges[at + 1];
        let to = to.max(lower.lo);
        lower.hi = to;
        let empty = lower.hi == lower.lo;
        self.ranges[at].lo = to;
        if empty {
            self.ranges.remove(at + 1);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "some thousand rows at most")]
fn as_rows(rows: usize) -> f64 {
    rows as f64
}
