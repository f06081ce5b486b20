//! Deliveries as the checks handle them: endpoints, and a worker that does what it is told.

use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{EndpointId, FormId, FormInstant, SubmissionId};

use super::world::{Factory, World};
use crate::admin::new_id;
use crate::store::{
    Accepted, Attempt, ClaimRequest, Claimed, Claims, DeliveriesRequest, DeliveryDetail,
    DeliveryKey, DeliveryRecord, DeliveryState, Due, EndpointNo, EndpointRecord, Lane, NewEndpoint,
    SealedSecret, Settled, Settlement, Verdict, Want,
};

pub(super) const LEASE: Duration = Duration::from_secs(30);
/// A pause that is longer than a lease.
pub(super) const PAUSE: Duration = Duration::from_secs(60);
pub(super) const MICROSECOND: Duration = Duration::from_micros(1);

pub(super) fn new_endpoint(form: &FormId) -> NewEndpoint {
    let id = EndpointId::from_bits(new_id());
    let url = format!("https://example.org/{id}");
    NewEndpoint { id, form: form.clone(), url, secret: SealedSecret(b"first".to_vec()) }
}

/// An attempt with a value in every field, unlike that of another status.
pub(super) fn attempt(status: u16) -> Attempt {
    Attempt {
        started_at: FormInstant::from_micros(super::world::NOW + i64::from(status)),
        duration: Duration::from_micros(1_234_567 + u64::from(status)),
        status: Some(status),
        error: Some(format!("status-{status}")),
        detail: Some(format!("detail\u{1b} {status}")),
        address: Some(format!("[2001:db8::{status}]:443")),
        snippet: Bytes::from(vec![0, 255, b'\n', u8::try_from(status % 256).unwrap_or(0)]),
        resend: status.is_multiple_of(2),
    }
}

pub(super) fn settlement(claimed: &Claimed, verdict: Verdict) -> Settlement {
    let attempt = (verdict != Verdict::Release).then(|| attempt(503));
    Settlement { key: claimed.key, lease: claimed.lease, verdict, attempt, own_fault: false }
}

/// The submissions of claims, in their order.
pub(super) fn submissions(claims: &[Claimed]) -> Vec<&SubmissionId> {
    claims.iter().map(|claimed| &claimed.submission).collect()
}

/// The submissions that were accepted, in that order.
pub(super) fn accepted_ids(accepted: &[Accepted]) -> Vec<&SubmissionId> {
    accepted.iter().map(|accepted| &accepted.id).collect()
}

impl World {
    pub(super) async fn add_endpoint(&self, form: &FormId) -> EndpointRecord {
        self.store.add_endpoint(new_endpoint(form)).await.expect("an endpoint is added")
    }

    /// The number of an endpoint that got a delivery before.
    pub(super) async fn number_of(&self, endpoint: &EndpointRecord) -> EndpointNo {
        let request =
            DeliveriesRequest { endpoint: Some(endpoint.id.clone()), ..of_form(&endpoint.form) };
        let deliveries = self.store.deliveries(request).await.expect("a list");
        deliveries.first().expect("the endpoint got a delivery").key.endpoint
    }

    /// The deliveries of a form.
    pub(super) async fn deliveries_of(&self, form: &FormId) -> Vec<DeliveryRecord> {
        self.store.deliveries(of_form(form)).await.expect("a list")
    }

    pub(super) async fn take(&self, wants: Vec<Want>, bytes_max: usize) -> Claims {
        let request = ClaimRequest { wants, lease: LEASE, bytes_max };
        self.store.claim(request).await.expect("claims")
    }

    pub(super) async fn settle(&self, claimed: &Claimed, verdict: Verdict) -> Settled {
        let settled = self.store.settle(vec![settlement(claimed, verdict)]).await;
        let settled = settled.expect("settled");
        assert_eq!(settled.len(), 1, "one answer for each settlement");
        settled[0]
    }

    pub(super) async fn detail(&self, key: DeliveryKey) -> DeliveryDetail {
        let detail = self.store.delivery(&key.id()).await.expect("a lookup").expect("found");
        assert_eq!(detail.record.key, key);
        detail
    }

    pub(super) async fn state(&self, key: DeliveryKey) -> DeliveryState {
        self.detail(key).await.record.state
    }

    pub(super) async fn due(&self) -> Vec<Due> {
        let mut due = self.store.due().await.expect("a list");
        due.sort_by_key(|due| (due.endpoint, due.lane));
        due
    }

    /// Lets time pass.
    pub(super) fn pass(&self, time: Duration) {
        self.clock.advance(i64::try_from(time.as_micros()).expect("a short time"));
    }

    /// Lets all of a time pass but its last microsecond.
    pub(super) fn pass_until_just_before(&self, time: Duration) {
        self.pass(time.saturating_sub(MICROSECOND));
    }
}

pub(super) fn of_form(form: &FormId) -> DeliveriesRequest {
    DeliveriesRequest {
        form: form.clone(),
        endpoint: None,
        state: None,
        submission: None,
        after: None,
        limit: u32::MAX,
    }
}

/// A world whose form has one endpoint, and submissions on their way to it.
pub(super) struct Queue {
    pub(super) world: World,
    pub(super) endpoint: EndpointRecord,
    pub(super) number: EndpointNo,
    /// Oldest first.
    pub(super) accepted: Vec<Accepted>,
}

impl Queue {
    pub(super) async fn new(factory: Factory, submissions: usize) -> Self {
        let world = World::new(factory).await;
        let endpoint = world.add_endpoint(&world.form.id).await;
        let mut accepted = Vec::new();
        for n in 0..submissions {
            accepted.push(world.submit(&format!("{{\"n\":{n}}}")).await);
        }
        let number = world.number_of(&endpoint).await;
        Self { world, endpoint, number, accepted }
    }

    pub(super) async fn claim(&self, lane: Lane, count: u32) -> Vec<Claimed> {
        let want = Want { endpoint: self.number, lane, count };
        self.world.take(vec![want], usize::MAX).await.deliveries
    }

    /// Claims the first of a lane.
    pub(super) async fn first(&self, lane: Lane) -> Claimed {
        let mut claimed = self.claim(lane, 1).await;
        claimed.pop().expect("there is one to claim")
    }

    /// Claims the first fresh one and settles it.
    pub(super) async fn settled(&self, verdict: Verdict) -> DeliveryKey {
        let claimed = self.first(Lane::Fresh).await;
        assert_eq!(self.world.settle(&claimed, verdict).await, Settled::Kept);
        claimed.key
    }

    /// Nothing can be claimed, however long one waits.
    pub(super) async fn is_finished(&self) {
        self.world.pass(Duration::from_secs(1_000_000));
        for lane in Lane::ALL {
            let claimed = self.claim(lane, 10).await;
            assert!(claimed.is_empty(), "{lane:?}: {claimed:?}");
        }
        assert!(self.world.due().await.is_empty());
        let backlog = self.world.store.backlog().await.expect("a count");
        assert_eq!(backlog.unfinished, 0);
    }
}
