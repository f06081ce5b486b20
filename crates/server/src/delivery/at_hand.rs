//! What is claimed and waits for a slot.
//!
//! A claim has to reach the disk, and costs the same for one delivery as for many. An endpoint that
//! answers quickly has its next deliveries at hand when a slot of its own is free again, and waits for no
//! claim in between. What was claimed goes to the endpoint as it was then; so when it was last seen to be
//! that is noted here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Claimed, ClaimedEndpoint, EndpointNo};

/// How long a delivery waits before it is given back: its lease has to last for the attempt.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// How long an endpoint counts as what it was when it was last seen, unless this process changed one
/// since: others may too.
const SEEN_FOR: Duration = Duration::from_millis(10);

/// A claimed delivery.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) claimed: Claimed,
    /// When its lease ends, by the worker's own clock.
    pub(super) lease_end: Instant,
    /// When it was claimed.
    pub(super) since: Instant,
}

impl Held {
    /// Whether its lease lasts for an attempt that begins now and takes so long. What is recorded after the
    /// lease is lost, and attempted again.
    pub(super) fn lasts_for(&self, attempt: Duration, now: Instant) -> bool {
        now + attempt < self.lease_end
    }
}

/// A look at an endpoint.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) at: Instant,
    /// How often this process had changed endpoints before.
    pub(super) changes: u64,
}

/// Claimed deliveries, of each endpoint in the order they were claimed in.
#[derive(Debug, Default)]
pub(super) struct AtHand {
    of: BTreeMap<EndpointNo, Waiting>,
    /// The endpoint that had the last turn.
    last: Option<EndpointNo>,
}

/// What waits for an endpoint; never nothing.
#[derive(Debug)]
struct Waiting {
    held: VecDeque<Held>,
    /// When the endpoint was last seen as it was when these were claimed.
    seen: Seen,
}

impl AtHand {
    /// Keeps a delivery until there is a slot for it, and notes how its endpoint was seen. All that waits
    /// for an endpoint was claimed for the same one.
    pub(super) fn hold(&mut self, held: Held, seen: Seen) {
        let endpoint = held.claimed.key.endpoint;
        let new = || Waiting { held: VecDeque::new(), seen };
        let waiting = self.of.entry(endpoint).or_insert_with(new);
        waiting.seen = seen;
        waiting.held.push_back(held);
    }

    /// The endpoint as all that waits for it was claimed.
    pub(super) fn endpoint(&self, endpoint: EndpointNo) -> Option<&Arc<ClaimedEndpoint>> {
        self.of.get(&endpoint)?.held.front().map(|held| &held.claimed.endpoint)
    }

    /// Notes that an endpoint was seen as it was.
    pub(super) fn see(&mut self, endpoint: EndpointNo, seen: Seen) {
        if let Some(waiting) = self.of.get_mut(&endpoint) {
            waiting.seen = seen;
        }
    }

    /// Whether an endpoint counts as what it was, given how a look would see it now.
    pub(super) fn is_seen(&self, endpoint: EndpointNo, now: Seen) -> bool {
        let waiting = self.of.get(&endpoint);
        waiting.is_some_and(|Waiting { seen, .. }| {
            seen.changes == now.changes && now.at < seen.at + SEEN_FOR
        })
    }

    /// The endpoints with something at hand, beginning after the one that had the last turn.
    pub(super) fn turns(&self) -> Vec<EndpointNo> {
        let mut turns: Vec<_> = self.of.keys().copied().collect();
        let next = turns.partition_point(|endpoint| Some(*endpoint) <= self.last);
        turns.rotate_left(next);
        turns
    }

    /// Takes what waits longest for an endpoint, whose turn this was.
    pub(super) fn take(&mut self, endpoint: EndpointNo) -> Option<Held> {
        let waiting = self.of.get_mut(&endpoint)?;
        let held = waiting.held.pop_front();
        if waiting.held.is_empty() {
            self.of.remove(&endpoint);
        }
        self.last = Some(endpoint);
        held
    }

    /// Takes everything that waits for an endpoint.
    pub(super) fn all_of(&mut self, endpoint: EndpointNo) -> Vec<Held> {
        self.of.remove(&endpoint).map_or_else(Vec::new, |waiting| waiting.held.into())
    }

    /// Takes everything that waits for an endpoint which left something waiting for too long.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<Held> {
        let mut overdue = Vec::new();
        self.of.retain(|_, waiting| {
            let is_overdue = waiting.held.front().is_some_and(|held| held.since + WAIT_MAX <= now);
            if is_overdue {
                overdue.extend(waiting.held.drain(..));
            }
            !is_overdue
        });
        overdue
    }

    /// Takes everything.
    pub(super) fn all(&mut self) -> Vec<Held> {
        std::mem::take(&mut self.of).into_values().flat_map(|waiting| waiting.held).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use formsvc_protocol::{EndpointId, FormId, FormInstant, SubmissionId};

    use super::*;
    use crate::store::{ClaimedEndpoint, DeliveryKey, DeliveryState, Lane, Lease, SealedSecret};

    fn held(endpoint: i64, submission: i64, since: Instant) -> Held {
        let number = EndpointNo(endpoint);
        let endpoint = Arc::new(ClaimedEndpoint {
            number,
            id: EndpointId::new("ep_1").unwrap(),
            form: FormId::new("frm_1").unwrap(),
            url: String::new(),
            secret: SealedSecret(Vec::new()),
            previous_secret: None,
        });
        let claimed = Claimed {
            key: DeliveryKey { submission, endpoint: number },
            lease: Lease { token: 1, until: FormInstant::MAX },
            endpoint,
            submission: SubmissionId::new("sub_1").unwrap(),
            form_title: String::new(),
            data: Bytes::new(),
            created_at: FormInstant::MAX.to_timestamp(),
            state: DeliveryState::Pending,
            attempts: 0,
            retries: 0,
            resend: false,
            lane: Lane::Fresh,
            claims: 1,
            own_fault_for: Duration::ZERO,
        };
        Held { claimed, lease_end: since + Duration::from_secs(30), since }
    }

    fn seen(at: Instant) -> Seen {
        Seen { at, changes: 7 }
    }

    fn submissions(held: &[Held]) -> Vec<i64> {
        held.iter().map(|held| held.claimed.key.submission).collect()
    }

    #[test]
    fn each_endpoint_is_served_in_order_and_all_of_them_in_turn() {
        let (mut at_hand, now) = (AtHand::default(), Instant::now());
        for (endpoint, submission) in [(1, 10), (2, 20), (1, 11), (3, 30)] {
            at_hand.hold(held(endpoint, submission, now), seen(now));
        }
        assert_eq!(at_hand.turns(), [1, 2, 3].map(EndpointNo));
        assert_eq!(at_hand.take(EndpointNo(1)).unwrap().claimed.key.submission, 10);
        assert_eq!(at_hand.turns(), [2, 3, 1].map(EndpointNo));
        assert_eq!(at_hand.take(EndpointNo(2)).unwrap().claimed.key.submission, 20);
        assert_eq!(at_hand.turns(), [3, 1].map(EndpointNo));
        assert!(at_hand.take(EndpointNo(2)).is_none());
        assert_eq!(submissions(&at_hand.all()), [11, 30]);
        assert!(at_hand.turns().is_empty());
    }

    #[test]
    fn who_waits_too_long_is_given_back_with_all_behind_and_nobody_else_is() {
        let (mut at_hand, now) = (AtHand::default(), Instant::now());
        at_hand.hold(held(1, 10, now), seen(now));
        at_hand.hold(held(2, 20, now + WAIT_MAX / 2), seen(now));
        at_hand.hold(held(1, 11, now + WAIT_MAX / 2), seen(now));
        assert!(at_hand.overdue(now + WAIT_MAX / 2).is_empty());
        assert_eq!(submissions(&at_hand.overdue(now + WAIT_MAX)), [10, 11]);
        assert_eq!(at_hand.turns(), [EndpointNo(2)]);
    }

    #[test]
    fn an_endpoint_counts_as_seen_for_a_moment_and_until_this_process_changes_one() {
        let (mut at_hand, now) = (AtHand::default(), Instant::now());
        let one = EndpointNo(1);
        assert!(!at_hand.is_seen(one, seen(now)), "nothing waits for it");
        at_hand.hold(held(1, 10, now), seen(now));
        let last = SEEN_FOR.saturating_sub(Duration::from_nanos(1));
        assert!(at_hand.is_seen(one, seen(now + last)));
        assert!(!at_hand.is_seen(one, seen(now + SEEN_FOR)));
        assert!(!at_hand.is_seen(one, Seen { at: now, changes: 8 }));
        at_hand.see(one, Seen { at: now + SEEN_FOR, changes: 8 });
        assert!(at_hand.is_seen(one, Seen { at: now + SEEN_FOR, changes: 8 }));
        assert!(!at_hand.is_seen(EndpointNo(2), Seen { at: now + SEEN_FOR, changes: 8 }));
    }

    #[test]
    fn no_attempt_begins_that_its_lease_does_not_last_for() {
        let now = Instant::now();
        let held = held(1, 10, now);
        let attempt = Duration::from_secs(10);
        assert!(held.lasts_for(attempt, now + Duration::from_secs(19)));
        assert!(!held.lasts_for(attempt, now + Duration::from_secs(20)));
    }
}
