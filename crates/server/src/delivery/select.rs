//! Which deliveries are taken next: the board of what is due where, and who may have a slot.
//!
//! Endpoints take turns. Each has a cap on attempts under way, so that a slow one fills its own slots
//! and nobody else's; retries have at most half of all slots, so that a wave of them cannot keep new
//! submissions waiting. While slots are plenty, what an endpoint will get through in a moment is claimed
//! before it has a slot.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::options::Slots;
use crate::store::{Due, EndpointNo, Lane, Want};

/// Timeouts in a row after which an endpoint gets one attempt at a time, until it answers.
const TIMEOUTS_MAX: u32 = 5;
/// How long what is claimed ahead would last, at the endpoint's pace.
const AHEAD: Duration = Duration::from_millis(50);
/// Deliveries to one endpoint that are claimed ahead, at most.
const AHEAD_MAX: u32 = 512;
/// Deliveries that are claimed ahead, at most, in all.
const AHEAD_IN_ALL: u32 = 2_048;

/// What is known of the queue, and of the attempts under way.
///
/// The queue itself is in the store; this is a hint of where it is worth asking.
#[derive(Debug)]
pub(super) struct Board {
    slots: Slots,
    /// Whether anything may be claimed before there is a slot for it.
    may_claim_ahead: bool,
    /// When the first of each lane is due.
    fronts: BTreeMap<(EndpointNo, Lane), Instant>,
    under_way: HashMap<EndpointNo, u32>,
    under_way_in_all: u32,
    late_in_all: u32,
    /// Claimed and without a slot.
    at_hand: HashMap<EndpointNo, u32>,
    at_hand_in_all: u32,
    /// What an attempt takes, where one after another is answered in time.
    paces: HashMap<EndpointNo, Duration>,
    timeouts: HashMap<EndpointNo, u32>,
    /// Endpoints that are left alone until then.
    blocked: HashMap<EndpointNo, Instant>,
    /// The endpoint that had the last turn.
    last: EndpointNo,
}

impl Board {
    pub(super) fn new(slots: Slots, may_claim_ahead: bool) -> Self {
        Self {
            slots,
            may_claim_ahead,
            fronts: BTreeMap::new(),
            under_way: HashMap::new(),
            under_way_in_all: 0,
            late_in_all: 0,
            at_hand: HashMap::new(),
            at_hand_in_all: 0,
            paces: HashMap::new(),
            timeouts: HashMap::new(),
            blocked: HashMap::new(),
            last: EndpointNo(i64::MIN),
        }
    }

    /// Lanes got deliveries that are due at once.
    pub(super) fn announce(&mut self, lanes: &BTreeSet<(EndpointNo, Lane)>, now: Instant) {
        for lane in lanes {
            self.is_due_at(*lane, now);
        }
    }

    /// A delivery goes back to its endpoint's late lane until then.
    pub(super) fn put_off(&mut self, endpoint: EndpointNo, until: Instant) {
        self.is_due_at((endpoint, Lane::Late), until);
    }

    /// Leaves an endpoint alone until then.
    pub(super) fn block(&mut self, endpoint: EndpointNo, until: Instant) {
        let now = Instant::now();
        self.blocked.retain(|_, until| *until > now);
        self.blocked.insert(endpoint, until);
    }

    /// When something that is due then can be taken.
    fn takeable(&self, endpoint: EndpointNo, at: Instant) -> Instant {
        self.blocked.get(&endpoint).map_or(at, |until| at.max(*until))
    }

    /// All that is in the store, as of now.
    pub(super) fn refresh(&mut self, due: &[Due], now: Instant) {
        self.fronts.clear();
        self.found(due, now);
        let mut paces = std::mem::take(&mut self.paces);
        paces.retain(|endpoint, _| self.is_busy(*endpoint));
        self.paces = paces;
    }

    /// Lanes are asked for what they have. What is heard of them from now on is news: the answer will not
    /// know of it.
    pub(super) fn ask(&mut self, wants: &[Want]) -> Asked {
        let lanes = wants.iter().map(|want| (want.endpoint, want.lane));
        Asked(lanes.filter_map(|lane| Some((lane, self.fronts.remove(&lane)?))).collect())
    }

    /// There is no answer: all is as it was.
    pub(super) fn unanswered(&mut self, Asked(lanes): Asked) {
        for (lane, at) in lanes {
            self.is_due_at(lane, at);
        }
    }

    /// What was found first in some lanes.
    pub(super) fn found(&mut self, due: &[Due], now: Instant) {
        for due in due {
            let at = now.checked_sub(due.overdue).unwrap_or(now) + due.after;
            self.is_due_at((due.endpoint, due.lane), at);
        }
    }

    fn is_due_at(&mut self, lane: (EndpointNo, Lane), at: Instant) {
        let front = self.fronts.entry(lane).or_insert(at);
        *front = at.min(*front);
    }

    /// The last endpoint that got something: the next turn is that of the one after it.
    pub(super) fn served(&mut self, endpoint: EndpointNo) {
        self.last = endpoint;
    }

    /// A delivery is at hand.
    pub(super) fn hold(&mut self, endpoint: EndpointNo) {
        *self.at_hand.entry(endpoint).or_default() += 1;
        self.at_hand_in_all += 1;
    }

    /// A delivery is no longer at hand.
    pub(super) fn let_go(&mut self, endpoint: EndpointNo) {
        less(&mut self.at_hand, endpoint);
        self.at_hand_in_all = self.at_hand_in_all.saturating_sub(1);
    }

    /// Deliveries to an endpoint waited for too long: it is slower than it was.
    pub(super) fn slowed(&mut self, endpoint: EndpointNo) {
        self.paces.remove(&endpoint);
    }

    /// An attempt began.
    pub(super) fn begin(&mut self, endpoint: EndpointNo, is_late: bool) {
        *self.under_way.entry(endpoint).or_default() += 1;
        self.under_way_in_all += 1;
        self.late_in_all += u32::from(is_late);
    }

    /// An attempt is over that took so long.
    pub(super) fn end(
        &mut self,
        endpoint: EndpointNo,
        is_late: bool,
        ending: Reached,
        took: Duration,
    ) {
        less(&mut self.under_way, endpoint);
        self.under_way_in_all = self.under_way_in_all.saturating_sub(1);
        self.late_in_all = self.late_in_all.saturating_sub(u32::from(is_late));
        match ending {
            Reached::InTime => drop(self.timeouts.remove(&endpoint)),
            Reached::NotInTime => *self.timeouts.entry(endpoint).or_default() += 1,
            Reached::Unknown => {}
        }
        if ending == Reached::InTime && self.is_busy(endpoint) {
            let pace = self.paces.entry(endpoint).or_insert(took);
            *pace = (*pace * 7 + took) / 8;
        } else {
            self.paces.remove(&endpoint);
        }
    }

    /// Whether an endpoint has something under way, at hand or new.
    fn is_busy(&self, endpoint: EndpointNo) -> bool {
        count(&self.under_way, endpoint) + count(&self.at_hand, endpoint) > 0
            || self.fronts.contains_key(&(endpoint, Lane::Fresh))
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

    /// Whether so many free slots are plenty, and nobody has to wait for one.
    fn has_plenty(&self, free: u32) -> bool {
        free > self.slots.in_all / 2
    }

    /// What to claim ahead of slots, while these are plenty: new deliveries to endpoints that have nothing
    /// else due, once half of what they had at hand is used up.
    pub(super) fn choose_ahead(&self, now: Instant) -> Vec<Want> {
        let free = self.slots.in_all.saturating_sub(self.under_way_in_all);
        let (mut left, mut wants) = (AHEAD_IN_ALL.saturating_sub(self.at_hand_in_all), Vec::new());
        if self.may_claim_ahead && self.has_plenty(free) {
            for endpoint in self.paces.keys() {
                let more = self.wanted_ahead(*endpoint, now).min(left);
                left -= more;
                want(&mut wants, *endpoint, Lane::Fresh, more);
            }
        }
        wants
    }

    /// How many new deliveries to an endpoint are to be claimed ahead of slots.
    fn wanted_ahead(&self, endpoint: EndpointNo, now: Instant) -> u32 {
        let (ahead, held) = (self.ahead(endpoint), count(&self.at_hand, endpoint));
        let is_due = |lane| self.is_due(endpoint, lane, now);
        if held <= ahead / 2 && is_due(Lane::Fresh) && !is_due(Lane::Late) && !is_due(Lane::Leased)
        {
            ahead - held
        } else {
            0
        }
    }

    fn is_due(&self, endpoint: EndpointNo, lane: Lane, now: Instant) -> bool {
        let front = self.fronts.get(&(endpoint, lane));
        front.is_some_and(|at| self.takeable(endpoint, *at) <= now)
    }

    /// How many deliveries an endpoint gets through in a moment.
    fn ahead(&self, endpoint: EndpointNo) -> u32 {
        let Some(pace) = self.paces.get(&endpoint) else { return 0 };
        let ahead = AHEAD.as_micros() * u128::from(self.cap(endpoint)) / pace.as_micros().max(1);
        u32::try_from(ahead).unwrap_or(AHEAD_MAX).min(AHEAD_MAX)
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

    /// Attempts an endpoint may have at a time.
    fn cap(&self, endpoint: EndpointNo) -> u32 {
        let timeouts = self.timeouts.get(&endpoint).copied().unwrap_or_default();
        if timeouts < TIMEOUTS_MAX { self.slots.per_endpoint } else { 1 }
    }

    /// Attempts an endpoint may have besides those under way, and those that are at hand.
    fn room(&self, endpoint: EndpointNo) -> u32 {
        self.free_slots(endpoint).saturating_sub(count(&self.at_hand, endpoint))
    }

    /// Attempts to an endpoint that may begin now, by its own cap.
    fn free_slots(&self, endpoint: EndpointNo) -> u32 {
        self.cap(endpoint).saturating_sub(count(&self.under_way, endpoint))
    }

    /// Whether an attempt to an endpoint may begin.
    pub(super) fn may_begin(&self, endpoint: EndpointNo) -> bool {
        self.under_way_in_all < self.slots.in_all && self.free_slots(endpoint) > 0
    }

    /// Whether who made an attempt to an endpoint that is over may make the next, without a turn.
    pub(super) fn may_go_on(&self, endpoint: EndpointNo) -> bool {
        let free = self.slots.in_all.saturating_sub(self.under_way_in_all);
        self.has_plenty(free) && self.free_slots(endpoint) > 0
    }

    /// Whether something can be claimed or begun for an endpoint.
    pub(super) fn has_work(&self, endpoint: EndpointNo, now: Instant) -> bool {
        let is_any_due = || {
            let lanes = [Lane::Fresh, Lane::Late, Lane::Leased];
            lanes.into_iter().any(|lane| self.is_due(endpoint, lane, now))
        };
        (count(&self.at_hand, endpoint) > 0 && self.may_begin(endpoint))
            || (self.room(endpoint) > 0 && is_any_due())
            || (self.may_claim_ahead && self.wanted_ahead(endpoint, now) > 0)
    }

    /// When something that is not due yet will be, for which there is room. What is due already waits
    /// for a slot, and so for an attempt to end.
    pub(super) fn next_due(&self, now: Instant) -> Option<Instant> {
        let waiting = self.fronts.iter().filter(|((endpoint, _), _)| self.room(*endpoint) > 0);
        let times = waiting.map(|((endpoint, _), at)| self.takeable(*endpoint, *at));
        times.filter(|at| *at > now).min()
    }
}

/// Lanes that were asked, and when the first of each was due.
#[derive(Debug, Default)]
pub(super) struct Asked(Vec<((EndpointNo, Lane), Instant)>);

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
            self.take_of(lane, count, wants);
            (free.in_all, free.late) = (free.in_all - count, free.late - count);
            share -= count;
        }
        if self.fresh.is_some() {
            self.take_of(Lane::Fresh, share, wants);
            free.in_all -= share;
        }
    }

    fn take_of(&mut self, lane: Lane, count: u32, wants: &mut Vec<Want>) {
        self.room -= count;
        want(wants, self.endpoint, lane, count);
    }

    fn wants_more(&self, free: Free) -> bool {
        self.room > 0 && (self.fresh.is_some() || free.late > 0)
    }
}

/// Wants so many more of a lane.
fn want(wants: &mut Vec<Want>, endpoint: EndpointNo, lane: Lane, count: u32) {
    let known = wants.iter_mut().find(|want| (want.endpoint, want.lane) == (endpoint, lane));
    match known {
        _ if count == 0 => {}
        Some(known) => known.count += count,
        None => wants.push(Want { endpoint, lane, count }),
    }
}

fn count(of: &HashMap<EndpointNo, u32>, endpoint: EndpointNo) -> u32 {
    of.get(&endpoint).copied().unwrap_or_default()
}

/// Counts one less.
fn less(of: &mut HashMap<EndpointNo, u32>, endpoint: EndpointNo) {
    if let Some(count) = of.get_mut(&endpoint) {
        *count = count.saturating_sub(1);
        if *count == 0 {
            of.remove(&endpoint);
        }
    }
}

#[cfg(test)]
mod tests;
