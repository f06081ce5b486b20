//! What is claimed and waits for a slot.
//!
//! A claim has to reach the disk, and costs the same for one delivery as for many. An endpoint that
//! answers quickly has its next deliveries at hand when a slot of its own is free again, and waits for no
//! claim in between.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Claimed, EndpointNo};

/// How long a delivery waits before it is given back: its lease has to last for the attempt.
const WAIT_MAX: Duration = Duration::from_secs(1);

/// A claimed delivery.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) claimed: Claimed,
    /// When its lease ends, by the worker's own clock.
    pub(super) lease_end: Instant,
    /// When it was claimed.
    pub(super) since: Instant,
}

/// Claimed deliveries, of each endpoint in the order they were claimed in.
#[derive(Debug, Default)]
pub(super) struct AtHand {
    /// None of them is empty.
    of: BTreeMap<EndpointNo, VecDeque<Held>>,
    /// The endpoint that had the last turn.
    last: Option<EndpointNo>,
}

impl AtHand {
    /// Keeps a delivery until there is a slot for it.
    pub(super) fn hold(&mut self, held: Held) {
        self.of.entry(held.claimed.key.endpoint).or_default().push_back(held);
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
        let held = waiting.pop_front();
        if waiting.is_empty() {
            self.of.remove(&endpoint);
        }
        self.last = Some(endpoint);
        held
    }

    /// What waits longest for an endpoint.
    pub(super) fn first(&self, endpoint: EndpointNo) -> Option<&Held> {
        self.of.get(&endpoint)?.front()
    }

    /// Takes everything that waits for an endpoint.
    pub(super) fn all_of(&mut self, endpoint: EndpointNo) -> Vec<Held> {
        self.of.remove(&endpoint).unwrap_or_default().into()
    }

    /// Takes everything that waits for an endpoint which left something waiting for too long.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<Held> {
        let mut overdue = Vec::new();
        self.of.retain(|_, waiting| {
            let is_overdue = waiting.front().is_some_and(|held| held.since + WAIT_MAX <= now);
            if is_overdue {
                overdue.extend(waiting.drain(..));
            }
            !is_overdue
        });
        overdue
    }

    /// Takes everything.
    pub(super) fn all(&mut self) -> Vec<Held> {
        std::mem::take(&mut self.of).into_values().flatten().collect()
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
        };
        Held { claimed, lease_end: since + Duration::from_secs(30), since }
    }

    fn submissions(held: &[Held]) -> Vec<i64> {
        held.iter().map(|held| held.claimed.key.submission).collect()
    }

    #[test]
    fn each_endpoint_is_served_in_order_and_all_of_them_in_turn() {
        let (mut at_hand, now) = (AtHand::default(), Instant::now());
        for (endpoint, submission) in [(1, 10), (2, 20), (1, 11), (3, 30)] {
            at_hand.hold(held(endpoint, submission, now));
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
        at_hand.hold(held(1, 10, now));
        at_hand.hold(held(2, 20, now + WAIT_MAX / 2));
        at_hand.hold(held(1, 11, now + WAIT_MAX / 2));
        assert!(at_hand.overdue(now + WAIT_MAX / 2).is_empty());
        assert_eq!(submissions(&at_hand.overdue(now + WAIT_MAX)), [10, 11]);
        assert_eq!(at_hand.turns(), [EndpointNo(2)]);
    }
}
