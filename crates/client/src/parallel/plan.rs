//! What the answers of several walkers mean. Pure: an answer of a walker goes in; requests to send,
//! pages to hand on and things to tell come out.

use std::collections::VecDeque;

use formsvc_protocol::Cursor;

use super::probe::Probe;
use super::range::{Answer, Edge, Out, Range, Seam, State};
use crate::FallbackReason;
use crate::pager::{Fault, Next, Notice, OnTieStorm, Then, Turn, Walk, millisecond};

/// Probes that may fail before the service counts as one that takes no cursor of others: rows may
/// have been deleted between two answers.
const PROBES: u32 = 2;

/// What a planner goes by.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) walkers: usize,
    /// Rows of a full page.
    pub(crate) page: usize,
    /// Pages of a range.
    pub(crate) range_pages: usize,
    /// Most pages held, those under way included.
    pub(crate) held: usize,
    pub(crate) ordered: bool,
    pub(crate) ties: Option<OnTieStorm>,
    /// No row older than this millisecond is wanted.
    pub(crate) floor: i64,
    /// No range is opened below this millisecond.
    pub(crate) begins: i64,
}

/// A request to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) id: u64,
    pub(crate) cursor: Option<Cursor>,
}

/// How a list ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finish {
    /// At the end of the service's list.
    End,
    /// Where no older row is wanted.
    Floor,
    /// With the fault of the page that was handed on last.
    Fault,
    /// With the error of this request.
    Request(u64),
    /// Two ranges do not meet at this millisecond, and rows below it were handed on.
    SeamBroken(i64),
}

/// Whether ranges are opened.
#[derive(Debug)]
pub(super) enum Phase {
    /// Not yet: so many probes have failed.
    Probing(u32),
    On,
    /// No longer: the list goes on by the service's cursors.
    Off,
}

/// Several walkers in one list.
#[derive(Debug)]
pub(crate) struct Planner<P> {
    pub(super) settings: Settings,
    /// From the newest to the oldest, without gaps.
    pub(super) ranges: Vec<Range<P>>,
    pub(super) phase: Phase,
    probe: Option<Probe>,
    pub(super) ready: VecDeque<Out<P>>,
    notices: Vec<Notice>,
    next_id: u64,
    pub(super) in_flight: usize,
    /// Requests answered, and the rows of them that counted.
    pub(super) answered: usize,
    pub(super) rows: usize,
    finish: Option<Finish>,
}

impl<P: Answer> Planner<P> {
    /// Begins with the walk that a plain list would take.
    pub(crate) fn new(settings: Settings, walk: Walk) -> Self {
        let top = Range::new(settings.floor, i64::MAX, State::Open, walk);
        Self {
            settings,
            ranges: vec![top],
            phase: Phase::Probing(0),
            probe: None,
            ready: VecDeque::new(),
            notices: Vec::new(),
            next_id: 0,
            in_flight: 0,
            answered: 0,
            rows: 0,
            finish: None,
        }
    }

    /// The next page to hand on.
    pub(crate) fn next(&mut self) -> Option<Out<P>> {
        let out = self.ready.pop_front();
        if out.is_some() {
            self.drain();
        }
        out
    }

    /// How the list ended, once every page was handed on.
    pub(crate) fn finish(&self) -> Option<Finish> {
        self.finish.filter(|_| self.ready.is_empty())
    }

    /// What happened since the last time somebody asked.
    pub(crate) fn notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// Whether the answer to a request still matters.
    pub(crate) fn wants(&self, request: u64) -> bool {
        let asked = |range: &Range<P>| {
            range.request == Some(request)
                || matches!(range.seam, Seam::Asked { request: again, .. } if again == request)
        };
        self.finish.is_none() && self.ranges.iter().any(asked)
    }

    /// Pages held, those under way included.
    pub(super) fn held(&self) -> usize {
        let queued: usize = self.ranges.iter().map(|range| range.queue.len()).sum();
        queued + self.ready.len() + self.in_flight
    }

    pub(super) fn new_request(&mut self) -> u64 {
        self.in_flight += 1;
        self.next_id += 1;
        self.next_id
    }

    /// The request of a range that is to be read on.
    pub(super) fn ask(&mut self, at: usize) -> Request {
        let id = self.new_request();
        let range = &mut self.ranges[at];
        range.request = Some(id);
        range.asked = range.walk.cursor().cloned();
        Request { id, cursor: range.asked.clone() }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.finish.is_some()
    }

    /// An answer that the planner no longer wants, or a request that was dropped.
    pub(crate) fn dropped(&mut self) {
        self.in_flight -= 1;
    }

    /// A walker's answer.
    pub(crate) fn arrived(&mut self, request: u64, page: P) {
        self.in_flight -= 1;
        self.answered += 1;
        if let Some(at) = self.range_of(request) {
            self.ranges[at].request = None;
            if self.probe_holds(&page) {
                self.take(at, page);
            }
        } else if let Some(at) = self.seam_of(request) {
            self.answered_again(at, &page);
        }
        self.meet();
        self.drain();
    }

    /// The service refused the request with a 400; false when it was by a cursor of its own.
    pub(crate) fn refused(&mut self, request: u64) -> bool {
        let Some(at) = self.range_of(request) else {
            let Some(at) = self.seam_of(request) else { return false };
            self.in_flight -= 1;
            self.break_seam(at + 1, FallbackReason::CursorRefused);
            self.drain();
            return true;
        };
        if self.probe.take().is_some() {
            self.in_flight -= 1;
            self.turn_off(FallbackReason::CursorRefused);
            let range = &mut self.ranges[at];
            range.request = None;
            range.walk.ask_once(None);
            range.walk.refused();
            return true;
        }
        if let Some(turn) = self.ranges[at].walk.refused() {
            self.in_flight -= 1;
            self.ranges[at].request = None;
            self.tell(turn.notice);
            return true;
        }
        if at == 0 || self.ranges[at].is_known() {
            return false;
        }
        self.in_flight -= 1;
        self.break_seam(at, FallbackReason::CursorRefused);
        self.meet();
        self.drain();
        true
    }

    /// A request failed for good: newer rows still come, older ones do not.
    pub(crate) fn failed(&mut self, request: u64) {
        self.in_flight -= 1;
        let Some(at) = self.range_of(request).or_else(|| self.seam_of(request)) else { return };
        if !self.settings.ordered {
            self.finish.get_or_insert(Finish::Request(request));
            return;
        }
        self.ranges.truncate(at + 1);
        let range = &mut self.ranges[at];
        range.state = State::Failed;
        range.request = Some(request);
        self.drain();
    }

    fn range_of(&self, request: u64) -> Option<usize> {
        self.ranges.iter().position(|range| range.request == Some(request))
    }

    fn seam_of(&self, request: u64) -> Option<usize> {
        self.ranges.iter().position(
            |range| matches!(range.seam, Seam::Asked { request: again, .. } if again == request),
        )
    }

    pub(super) fn turn_off(&mut self, why: FallbackReason) {
        if !matches!(self.phase, Phase::Off) {
            self.phase = Phase::Off;
            self.notices.push(Notice::FellBack(why));
        }
    }

    pub(super) fn end_with(&mut self, finish: Finish) {
        self.finish.get_or_insert(finish);
    }

    /// Before the next request of the only walker: makes it a probe if it can be one.
    fn prepare_probe(&mut self, page: &P) {
        if !matches!(self.phase, Phase::Probing(_)) {
            return;
        }
        // A walk that keeps ties asks with a cursor of its own anyway.
        let own = self.settings.ties.is_some();
        self.probe = Probe::into_page(page, own);
        if let (Some(probe), false) = (&self.probe, own) {
            self.ranges[0].walk.ask_once(Some(probe.cursor.clone()));
        }
    }

    /// Judges the answer to a probe, if it is one; false when the answer does not count.
    fn probe_holds(&mut self, page: &P) -> bool {
        let Some(probe) = self.probe.take() else { return true };
        if probe.holds(page) {
            self.phase = Phase::On;
            return true;
        }
        match &mut self.phase {
            Phase::Probing(failed) if *failed + 1 < PROBES => *failed += 1,
            _ => self.turn_off(FallbackReason::CursorMistreated),
        }
        self.ranges[0].walk.ask_once(None);
        // A walk that keeps ties judges for itself.
        self.settings.ties.is_some()
    }

    /// Takes the answer of the walker in a range.
    fn take(&mut self, at: usize, page: P) {
        if at > 0 && !self.begins_below(at, &page) {
            return;
        }
        let has_more = page.pagination().has_more;
        // The last row's, unless the page is out of order.
        let last = page.rows().map(|(_, time)| millisecond(time)).min();
        self.reach(at, last, has_more);
        self.pace(at, &page);
        if let Some(last) = last.filter(|last| has_more && *last >= self.ranges[at].lo) {
            self.aim(at, last);
        }
        let last_of_all = at + 1 == self.ranges.len();
        let range = &mut self.ranges[at];
        let above = |row: &(&str, i64)| millisecond(row.1) >= range.lo;
        let keep = page.rows().take_while(above).count();
        let below = page.rows().nth(keep).map(Edge::of);
        let mut turn = range.walk.turn_within(page.rows(), keep, page.pagination());
        self.tell(turn.notice.take());
        if turn.then == Then::Again {
            return;
        }
        let range = &mut self.ranges[at];
        let failed = match turn.then {
            Then::Failed(Fault::Stuck(_) | Fault::Crowd) if below.is_some() => false,
            Then::Failed(_) => true,
            _ => false,
        };
        let done = !failed && (below.is_some() || !has_more);
        if failed {
            range.state = State::Failed;
        } else if done {
            range.state = State::Done;
            range.below = Some(below.clone().unwrap_or(Edge::End));
            turn.then = Then::More;
        }
        let next = match (&below, has_more) {
            (None, true) if !failed => Next::At(page.pagination().next_cursor.clone()),
            (None, false) if last_of_all && !failed => Next::End,
            // Not the seam, a cursor of our own, while it is not proven.
            _ => Next::At(range.asked.clone()),
        };
        self.rows += turn.rows - turn.duplicates.len();
        self.hand_over(at, page, turn, next, failed);
    }

    /// Learns how dense the list is where an answer comes from. A gap counts once, for the range whose
    /// rows lie behind it.
    fn pace(&mut self, at: usize, page: &P) {
        let range = &mut self.ranges[at];
        let millis = page.rows().map(|(_, time)| millisecond(time));
        let mine = || millis.clone().take_while(|ms| *ms >= range.lo);
        let (Some(first), Some(last)) = (mine().next(), mine().last()) else { return };
        let begin = Some(range.hi).filter(|hi| *hi != i64::MAX).unwrap_or(first);
        let before = range.at.unwrap_or(begin);
        range.pace.add(before.saturating_sub(last), mine().count());
        range.at = Some(range.at.map_or(last, |at| at.min(last)));
    }

    fn tell(&mut self, notice: Option<Notice>) {
        match notice {
            Some(Notice::FellBack(why)) => self.turn_off(why),
            Some(storm @ Notice::Storm(_)) => self.notices.push(storm),
            None => {}
        }
    }

    fn hand_over(&mut self, at: usize, page: P, turn: Turn, next: Next, failed: bool) {
        if self.ranges[at].state == State::Open {
            self.prepare_probe(&page);
        }
        if failed || turn.rows > turn.duplicates.len() {
            self.ranges[at].queue.push_back(Out { page, turn, next });
        }
        if failed && self.settings.ordered {
            self.ranges.truncate(at + 1);
        }
    }

    /// The first answer of a lower range: notes what it begins with; false when it is no answer to
    /// the cursor that was sent.
    fn begins_below(&mut self, at: usize, page: &P) -> bool {
        let range = &mut self.ranges[at];
        if range.is_known() {
            return true;
        }
        match page.rows().next() {
            Some((_, time)) if millisecond(time) >= range.hi => {
                self.break_seam(at, FallbackReason::CursorMistreated);
                return false;
            }
            Some(row) => range.first = Some(Edge::of(row)),
            None if !page.pagination().has_more => range.first = Some(Edge::End),
            None => {}
        }
        true
    }

    /// Moves what may be handed on to where it is taken from.
    pub(super) fn drain(&mut self) {
        if self.settings.ordered {
            self.drain_in_order();
        } else {
            self.drain_as_it_comes();
        }
    }

    fn drain_in_order(&mut self) {
        while self.finish.is_none() {
            let alone = self.ranges.len() == 1;
            // It failed before it could show whether it meets the one above.
            let lost =
                self.ranges.get(1).filter(|next| next.state == State::Failed && !next.is_known());
            let lost = lost.map(Range::finish);
            let front = &mut self.ranges[0];
            front.handed_on |= !front.queue.is_empty();
            self.ready.append(&mut front.queue);
            match front.state {
                State::Done if front.seam == Seam::Holds => {
                    self.ranges.remove(0);
                }
                State::Done if alone => self.finish = Some(front.finish()),
                State::Done if lost.is_some() => self.finish = lost,
                State::Failed => self.finish = Some(front.finish()),
                _ => return,
            }
        }
    }

    fn drain_as_it_comes(&mut self) {
        for range in &mut self.ranges {
            range.handed_on |= !range.queue.is_empty();
            self.ready.append(&mut range.queue);
        }
        if let Some(failed) = self.ranges.iter().find(|range| range.state == State::Failed) {
            let finish = failed.finish();
            self.end_with(finish);
        }
        // A range whose two seams hold is forgotten; the one below it stands for both.
        while let Some(at) = self.ranges.iter().position(|range| range.seam == Seam::Holds) {
            let upper = self.ranges.remove(at);
            let lower = &mut self.ranges[at];
            (lower.hi, lower.first) = (upper.hi, upper.first);
            lower.handed_on |= upper.handed_on;
        }
        if let ([only], None) = (&self.ranges[..], self.finish)
            && only.state == State::Done
        {
            self.finish = Some(only.finish());
        }
    }
}

impl<P> Range<P> {
    fn finish(&self) -> Finish {
        match (self.state, self.request, &self.below) {
            (State::Failed, Some(request), _) => Finish::Request(request),
            (State::Failed, None, _) => Finish::Fault,
            (_, _, Some(Edge::Row { .. })) => Finish::Floor,
            _ => Finish::End,
        }
    }
}

#[cfg(test)]
mod service;
#[cfg(test)]
mod tests;
