//! A queue so plain that it is surely right: a list of deliveries, each with its place.

use formsvc_protocol::SubmissionId;
use formsvc_server::store::{DeliveryKey, DeliveryState, EndpointStatus, Lane, Settled, Verdict};

use super::ENDPOINTS;

/// How long each claim holds, in microseconds.
pub(super) const LEASE: i64 = 30_000_000;

/// Where a resend stands, unless it comes before a retry: then as long before as that is after.
pub(super) const AT_ONCE: i64 = 0;

/// Where a delivery stands among those to be attempted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) lane: Lane,
    pub(super) at: i64,
    pub(super) retries: u32,
    pub(super) claims: u32,
    pub(super) resend: bool,
    /// Number of the claim that holds it.
    held_by: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) key: DeliveryKey,
    pub(super) endpoint: usize,
    pub(super) submission: SubmissionId,
    pub(super) title: String,
    pub(super) made: i64,
    pub(super) state: DeliveryState,
    pub(super) attempts: u32,
    /// When it was due last in the lane of late ones.
    pub(super) next: Option<i64>,
    pub(super) finished: Option<i64>,
    pub(super) place: Option<Place>,
}

impl Delivery {
    pub(super) fn new(
        key: DeliveryKey,
        endpoint: usize,
        submission: SubmissionId,
        title: String,
        made: i64,
    ) -> Self {
        let (lane, held_by) = (Lane::Fresh, None);
        let place = Place { lane, at: made, retries: 0, claims: 0, resend: false, held_by };
        let (state, place) = (DeliveryState::Pending, Some(place));
        let (attempts, next, finished) = (0, None, None);
        Self { key, endpoint, submission, title, made, state, attempts, next, finished, place }
    }

    /// Where it goes when whoever holds it gives it back.
    fn given_back(&self, place: Place) -> Place {
        let (lane, at) = self.next.map_or((Lane::Fresh, self.made), |next| (Lane::Late, next));
        Place { lane, at, held_by: None, ..place }
    }
}

pub(super) struct Model {
    pub(super) now: i64,
    pub(super) endpoints: [EndpointStatus; ENDPOINTS],
    pub(super) deliveries: Vec<Delivery>,
    /// Of every claim there ever was, the delivery it is of.
    claims: Vec<usize>,
}

impl Model {
    pub(super) fn new(now: i64) -> Self {
        let endpoints = [EndpointStatus::Enabled; ENDPOINTS];
        Self { now, endpoints, deliveries: Vec::new(), claims: Vec::new() }
    }

    /// Deliveries in a lane, the front first.
    pub(super) fn lane(&self, endpoint: usize, lane: Lane) -> Vec<(Place, usize)> {
        let mut found: Vec<_> = self
            .deliveries
            .iter()
            .enumerate()
            .filter(|(_, delivery)| delivery.endpoint == endpoint)
            .filter_map(|(at, delivery)| Some((delivery.place?, at)))
            .filter(|(place, _)| place.lane == lane)
            .collect();
        found.sort_by_key(|(place, delivery)| (place.at, *delivery));
        found
    }

    /// What a worker gets, as it stands once it is claimed.
    pub(super) fn claim(&mut self, endpoint: usize, lane: Lane, count: u32) -> Vec<Delivery> {
        let mut found = self.lane(endpoint, lane);
        found.retain(|(place, _)| lane == Lane::Fresh || place.at <= self.now);
        found.truncate(count as usize);
        if self.endpoints[endpoint] != EndpointStatus::Enabled {
            found.clear();
        }
        let claimed = found.into_iter().map(|(place, at)| {
            let (held_by, until) = (Some(self.claims.len()), self.now + LEASE);
            let (lane, claims) = (Lane::Leased, place.claims + 1);
            self.claims.push(at);
            let place = Place { lane, at: until, claims, held_by, ..place };
            self.deliveries[at].place = Some(place);
            self.deliveries[at].clone()
        });
        claimed.collect()
    }

    /// Settles the claim with a number.
    pub(super) fn settle(&mut self, claim: usize, verdict: Verdict, attempted: bool) -> Settled {
        let delivery = &mut self.deliveries[self.claims[claim]];
        let held = delivery.place.filter(|place| place.held_by == Some(claim));
        let Some(place) = held else { return Settled::Lost };
        if verdict == Verdict::Release {
            let place = delivery.given_back(place);
            delivery.place = Some(Place { claims: place.claims - 1, ..place });
            return Settled::Kept;
        }
        delivery.attempts += u32::from(attempted);
        let stood = delivery.next;
        (delivery.place, delivery.next) = (None, None);
        match verdict {
            Verdict::Delivered => delivery.state = DeliveryState::Delivered,
            Verdict::Failed => delivery.state = DeliveryState::Failed,
            Verdict::Retry { after, retries } => {
                let usual = self.now + i64::try_from(after.as_micros()).unwrap();
                let is_kept =
                    attempted && place.resend && delivery.state == DeliveryState::Retrying;
                let at = stood.filter(|at| is_kept && *at < AT_ONCE).map_or(usual, |at| -at);
                let (lane, claims, held_by) = (Lane::Late, 0, None);
                let resend = place.resend && !attempted;
                delivery.place = Some(Place { lane, at, retries, claims, resend, held_by });
                delivery.next = Some(at);
                if !attempted {
                    return Settled::Kept;
                }
                delivery.state = DeliveryState::Retrying;
            }
            Verdict::Unchanged | Verdict::Release => return Settled::Kept,
        }
        delivery.finished = (!delivery.state.is_unfinished()).then_some(self.now);
        Settled::Kept
    }

    /// Whether it is resent.
    pub(super) fn resend(&mut self, delivery: usize) -> bool {
        let delivery = &mut self.deliveries[delivery];
        let enabled = self.endpoints[delivery.endpoint] == EndpointStatus::Enabled;
        if !enabled || delivery.place.is_some_and(|place| place.lane == Lane::Leased) {
            return false;
        }
        let (retries, claims) =
            delivery.place.map_or((0, 0), |place| (place.retries, place.claims));
        let stood = delivery.place.filter(|place| place.lane == Lane::Late);
        let at = stood.map_or(AT_ONCE, |place| if place.resend { place.at } else { -place.at });
        let at = at.min(AT_ONCE);
        let (lane, resend, held_by) = (Lane::Late, true, None);
        delivery.place = Some(Place { lane, at, retries, claims, resend, held_by });
        delivery.next = Some(at);
        true
    }

    /// The status it has now, unless it is removed.
    pub(super) fn set_enabled(&mut self, endpoint: usize, enabled: bool) -> Option<EndpointStatus> {
        let status = &mut self.endpoints[endpoint];
        if *status == EndpointStatus::Removed {
            return None;
        }
        *status = if enabled { EndpointStatus::Enabled } else { EndpointStatus::Disabled };
        Some(*status)
    }

    pub(super) fn remove(&mut self, endpoint: usize) {
        self.endpoints[endpoint] = EndpointStatus::Removed;
        for delivery in self.deliveries.iter_mut().filter(|d| d.endpoint == endpoint) {
            (delivery.place, delivery.next) = (None, None);
            if delivery.state.is_unfinished() {
                delivery.state = DeliveryState::Canceled;
                delivery.finished = Some(self.now);
            }
        }
    }

    /// How many claims were given back.
    pub(super) fn recover(&mut self) -> u64 {
        let mut given_back = 0;
        for delivery in &mut self.deliveries {
            if let Some(place) = delivery.place.filter(|place| place.lane == Lane::Leased) {
                delivery.place = Some(delivery.given_back(place));
                given_back += 1;
            }
        }
        given_back
    }
}
