//! Whether two ranges meet: the first row that the newer walker sees below its range must be the
//! very first row that the older walker got. Then nothing lies between, and nothing was skipped by
//! asking with a cursor that the service had not issued.

use super::plan::{Finish, Planner, Request};
use super::range::{Answer, Edge, Seam, State};
use crate::FallbackReason;
use crate::pager::{cursor_at, millisecond};

impl<P: Answer> Planner<P> {
    /// Compares what both sides saw, wherever both are known.
    pub(super) fn meet(&mut self) {
        for at in 0..self.ranges.len().saturating_sub(1) {
            let [upper, lower] = &mut self.ranges[at..at + 2] else { return };
            if upper.seam != Seam::Open {
                continue;
            }
            let (Some(below), Some(first)) = (&upper.below, &lower.first) else { continue };
            upper.seam = if below == first {
                Seam::Holds
            } else {
                // The newer of two rows was deleted between the answers, or one answer skipped it:
                // the side that lacks it has the older answer to compare with if it was deleted
                // after the other side read it.
                Seam::Differs { upper: below.is_above(first) }
            };
        }
    }

    /// Requests that ask one side of a seam again, as far as there are walkers and room for them.
    /// Once for a seam: what is deleted twice in the same place within two answers is worth a
    /// fall-back.
    pub(super) fn ask_again(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        for at in 0..self.ranges.len().saturating_sub(1) {
            let Seam::Differs { upper } = self.ranges[at].seam else { continue };
            // The first seam never waits for room: whatever takes it waits for that seam.
            if self.in_flight >= self.settings.walkers || at > 0 && !self.has_room() {
                break;
            }
            let cursor = if upper {
                self.ranges[at].asked.clone()
            } else {
                Some(cursor_at(self.ranges[at + 1].hi.saturating_mul(1_000)))
            };
            let request = self.new_request();
            self.ranges[at].seam = Seam::Asked { request, upper };
            requests.push(Request { id: request, cursor });
        }
        requests
    }

    /// One side was asked again.
    pub(super) fn answered_again(&mut self, at: usize, page: &P) {
        let [range, lower] = &mut self.ranges[at..at + 2] else { return };
        let Seam::Asked { upper, .. } = range.seam else { return };
        let bound = lower.hi;
        let below = page.rows().find(|(_, time)| millisecond(*time) < bound).map(Edge::of);
        let now = below.or((!page.pagination().has_more).then_some(Edge::End));
        let other = if upper { &lower.first } else { &range.below };
        if now.is_some() && now == *other {
            range.seam = Seam::Holds;
        } else {
            self.break_seam(at + 1, FallbackReason::SeamBroken);
        }
    }

    /// The ranges from this one down are not what lies below the ones above: they are forgotten, and
    /// the walker above goes on through them by the service's cursors.
    pub(super) fn break_seam(&mut self, at: usize, why: FallbackReason) {
        if self.ranges[at..].iter().any(|range| range.handed_on) {
            self.end_with(Finish::SeamBroken(self.ranges[at].hi));
            return;
        }
        let above = self.ranges[..at].iter().rposition(|range| range.state != State::Waiting);
        let above = above.expect("the newest range is never waiting");
        self.ranges.truncate(above + 1);
        self.turn_off(why);
        let floor = self.settings.floor;
        let upper = &mut self.ranges[above];
        (upper.lo, upper.below, upper.seam) = (floor, None, Seam::Open);
        if upper.state == State::Done {
            upper.state = State::Open;
            upper.walk.rewind();
        }
    }
}
