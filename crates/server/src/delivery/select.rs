//! Which deliveries are taken next: the board of what is due where, and who may have a slot.
//!
//! Endpoints take turns. Each has a cap on attempts under way, so that a slow one fills its own slots
//! and nobody else's; retries have at most half of all slots, so that a wave of them cannot keep new
//! submissions waiting.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use tokio::time::Instant;

use super::options::Slots;
use crate::store::{Due, EndpointNo, Lane, Want};

/// Timeouts in a row after which an endpoint gets one attempt at a time, until it answers.
const TIMEOUTS_MAX: u32 = 5;

/// What is known of the queue, and of the attempts under way.
///
/// The queue itself is in the store; this is a hint of where it is worth asking.
#[derive(Debug)]
pub(super) struct Board {
    slots: Slots,
    /// When the first of each lane is due.
    fronts: BTreeMap<(EndpointNo, Lane), Instant>,
    under_way: HashMap<EndpointNo, u32>,
    under_way_in_all: u32,
    late_in_all: u32,
    timeouts: HashMap<EndpointNo, u32>,
    /// Endpoints that are left alone until then.
    blocked: HashMap<EndpointNo, Instant>,
    /// The endpoint that had the last turn.
    last: EndpointNo,
}

impl Board {
    pub(super) fn new(slots: Slots) -> Self {
        Self {
            slots,
            fronts: BTreeMap::new(),
            under_way: HashMap::new(),
            under_way_in_all: 0,
            late_in_all: 0,
            timeouts: HashMap::new(),
            blocked: HashMap::new(),
            last: EndpointNo(i64::MIN),
        }
    }

    /// Lanes got deliveries that are due at once.
    pub(super) fn announce(&mut self, lanes: &BTreeSet<(EndpointNo, Lane)>, now: Instant) {
        for lane in lanes {
            let front = self.fronts.entry(*lane).or_insert(now);
            *front = now.min(*front);
        }
    }

    /// A delivery goes back to its endpoint's late lane until then.
    pub(super) fn put_off(&mut self, endpoint: EndpointNo, until: Instant) {
        let front = self.fronts.entry((endpoint, Lane::Late)).or_insert(until);
        *front = until.min(*front);
    }

    /// Leaves an endpoint alone until then; `false` when it was left alone already.
    pub(super) fn block(&mut self, endpoint: EndpointNo, until: Instant) -> bool {
        let now = Instant::now();
        self.blocked.retain(|_, until| *until > now);
        self.blocked.insert(endpoint, until).is_none()
    }

    /// When something that is due then can be taken.
    fn takeable(&self, endpoint: EndpointNo, at: Instant) -> Instant {
        self.blocked.get(&endpoint).map_or(at, |until| at.max(*until))
    }

    /// All that is in the store, as of now.
    pub(super) fn refresh(&mut self, due: &[Due], now: Instant) {
        self.fronts.clear();
        self.update(&[], due, now);
    }

    /// What is now first in the lanes that were asked for.
    pub(super) fn update(&mut self, asked: &[Want], due: &[Due], now: Instant) {
        for want in asked {
            self.fronts.remove(&(want.endpoint, want.lane));
        }
        for due in due {
            let at = now.checked_sub(due.overdue).unwrap_or(now) + due.after;
            self.fronts.insert((due.endpoint, due.lane), at);
        }
    }

    /// The last endpoint that got something: the next turn is that of the one after it.
    pub(super) fn served(&mut self, endpoint: EndpointNo) {
        self.last = endpoint;
    }

    /// An attempt began.
    pub(super) fn begin(&mut self, endpoint: EndpointNo, is_late: bool) {
        *self.under_way.entry(endpoint).or_default() += 1;
        self.under_way_in_all += 1;
        self.late_in_all += u32::from(is_late);
    }

    /// An attempt is over.
    pub(super) fn end(&mut self, endpoint: EndpointNo, is_late: bool, ending: Reached) {
        if let Some(count) = self.under_way.get_mut(&endpoint) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.under_way.remove(&endpoint);
            }
        }
        self.under_way_in_all = self.under_way_in_all.saturating_sub(1);
        self.late_in_all = self.late_in_all.saturating_sub(u32::from(is_late));
        match ending {
            Reached::InTime => drop(self.timeouts.remove(&endpoint)),
            Reached::NotInTime => *self.timeouts.entry(endpoint).or_default() += 1,
            Reached::Unknown => {}
        }
    }

    /// Attempts under way.
    pub(super) fn under_way(&self) -> u32 {
        self.under_way_in_all
    }

    /// What to take now, in turns of the endpoints; empty when nothing is due or no slot is free.
    pub(super) fn choose(&self, now: Instant) -> Vec<Want> {
        let mut free = Free {
            in_all: self.slots.in_all.saturating_sub(self.under_way_in_all),
            late: (self.slots.in_all / 2).max(1).saturating_sub(self.late_in_all),
        };
        let mut turns = self.turns(now);
        let mut wants = Vec::new();
        while free.in_all > 0 && !turns.is_empty() {
            // Everybody gets a share; what somebody leaves goes round again.
            let share = (free.in_all / u32::try_from(turns.len()).unwrap_or(u32::MAX)).max(1);
            for turn in &mut turns {
                turn.take(share, &mut free, &mut wants);
            }
            turns.retain(|turn| turn.wants_more(free));
        }
        wants
    }

    /// Endpoints with something due and room for it, beginning after the one that had the last turn.
    fn turns(&self, now: Instant) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        for ((endpoint, lane), at) in &self.fronts {
            if self.takeable(*endpoint, *at) > now {
                continue;
            }
            if turns.last().is_none_or(|turn| turn.endpoint != *endpoint) {
                let (endpoint, room) = (*endpoint, self.room(*endpoint));
                turns.push(Turn { endpoint, room, fresh: None, late: Vec::new() });
            }
            match (lane, turns.last_mut()) {
                (_, None) => unreachable!("one was just pushed"),
                (Lane::Fresh, Some(turn)) => turn.fresh = Some(*at),
                (lane, Some(turn)) => turn.late.push((*lane, *at)),
            }
        }
        turns.retain(|turn| turn.room > 0);
        let next = turns.partition_point(|turn| turn.endpoint <= self.last);
        turns.rotate_left(next);
        turns
    }

    /// Attempts an endpoint may have besides those under way.
    fn room(&self, endpoint: EndpointNo) -> u32 {
        let timeouts = self.timeouts.get(&endpoint).copied().unwrap_or_default();
        let cap = if timeouts < TIMEOUTS_MAX { self.slots.per_endpoint } else { 1 };
        cap.saturating_sub(self.under_way.get(&endpoint).copied().unwrap_or_default())
    }

    /// When something that is not due yet will be, for which there is room. What is due already waits
    /// for a slot, and so for an attempt to end.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        let waiting = self.fronts.iter().filter(|((endpoint, _), _)| self.room(*endpoint) > 0);
        let times = waiting.map(|((endpoint, _), at)| self.takeable(*endpoint, *at));
        times.filter(|at| *at > now).min()
    }
}

/// Whether an attempt heard from its endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// It answered.
    InTime,
    /// It did not within the time it has.
    NotInTime,
    /// It says nothing about the endpoint's speed.
    Unknown,
}

/// Slots that are free.
#[derive(Clone, Copy)]
struct Free {
    in_all: u32,
    /// Of these, for retries at most.
    late: u32,
}

/// An endpoint whose turn it is.
struct Turn {
    endpoint: EndpointNo,
    /// Attempts it may still have.
    room: u32,
    /// Since when new deliveries wait, if any do.
    fresh: Option<Instant>,
    /// Its lanes of retries and of claims that ran out, and since when these wait.
    late: Vec<(Lane, Instant)>,
}

impl Turn {
    /// Takes a share of the slots.
    fn take(&mut self, share: u32, free: &mut Free, wants: &mut Vec<Want>) {
        let mut share = share.min(self.room).min(free.in_all);
        for (lane, since) in self.late.clone() {
            // Half of what it gets, when new deliveries wait as well; of one, whoever waits longest.
            let most = match self.fresh {
                None => share,
                Some(fresh) if share == 1 => u32::from(since < fresh),
                Some(_) => share.div_ceil(2),
            };
            let count = most.min(free.late);
            self.want(lane, count, wants);
            (free.in_all, free.late) = (free.in_all - count, free.late - count);
            share -= count;
        }
        if self.fresh.is_some() {
            self.want(Lane::Fresh, share, wants);
            free.in_all -= share;
        }
    }

    fn want(&mut self, lane: Lane, count: u32, wants: &mut Vec<Want>) {
        self.room -= count;
        let known = wants.iter_mut().find(|w| (w.endpoint, w.lane) == (self.endpoint, lane));
        match known {
            _ if count == 0 => {}
            Some(known) => known.count += count,
            None => wants.push(Want { endpoint: self.endpoint, lane, count }),
        }
    }

    fn wants_more(&self, free: Free) -> bool {
        self.room > 0 && (self.fresh.is_some() || free.late > 0)
    }
}

#[cfg(test)]
mod tests;
