//! Calls made of a store and of the model, with what both say compared.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_protocol::{
    Answers, EndpointId, FormId, FormInstant, FormStatus, PublicId, SubmissionId, UserId,
};
use formsvc_server::store::contract::{Factory, Fresh, ManualClock};
use formsvc_server::store::{
    Attempt, ClaimRequest, Claimed, DeliveriesRequest, DeliveryRecord, DeliveryState, EndpointNo,
    EndpointStatus, FormChange, Lane, NewEndpoint, NewForm, NewSubmission, SealedSecret,
    Settlement, Store, StoreError, UserRecord, Verdict, Want,
};

use super::model::{AT_ONCE, Delivery, LEASE, Model};
use super::{Call, ENDPOINTS};

pub(super) struct Run {
    store: Arc<dyn Store>,
    clock: ManualClock,
    form: FormId,
    endpoints: Vec<(EndpointId, EndpointNo)>,
    titles: u32,
    submissions: u32,
    /// Every claim there ever was.
    claims: Vec<Claimed>,
    model: Model,
}

impl Run {
    pub(super) async fn new(factory: Factory) -> (Self, Box<dyn Send>) {
        let now = 1_767_225_600_000_000;
        let clock = ManualClock::at(now);
        let Fresh { store, keep } = factory(clock.clock()).await;
        let user = UserId::new("usr_1").unwrap();
        let record = UserRecord { id: user.clone(), email: "a@b".into(), name: "A".into() };
        store.add_user(record).await.unwrap();
        let form = FormId::new("frm_1").unwrap();
        let (public_id, status) = (PublicId::new("p").unwrap(), FormStatus::Published);
        let new = NewForm { id: form.clone(), user, public_id, title: "0".into(), status };
        store.add_form(new).await.unwrap();
        let mut endpoints = Vec::new();
        for n in 0..ENDPOINTS {
            let id = EndpointId::new(&format!("whe_{n}")).unwrap();
            let (url, secret) = (format!("https://a.example/{n}"), SealedSecret(vec![1]));
            let new = NewEndpoint { id: id.clone(), form: form.clone(), url, secret };
            store.add_endpoint(new).await.unwrap();
            endpoints.push((id, EndpointNo(0)));
        }
        let (titles, submissions, claims, model) = (0, 0, Vec::new(), Model::new(now));
        let mut run = Self { store, clock, form, endpoints, titles, submissions, claims, model };
        // The first one tells the numbers of the endpoints.
        run.submit().await;
        (run, keep)
    }

    pub(super) async fn call(&mut self, call: Call) {
        match call {
            Call::Submit => self.submit().await,
            Call::Retitle => {
                self.titles += 1;
                let title = Some(self.titles.to_string());
                let change = FormChange { title, ..FormChange::default() };
                self.store.change_form(&self.form, change).await.unwrap();
            }
            Call::Pass { micros } => {
                self.model.now += micros;
                self.clock.set(self.model.now);
            }
            Call::Claim { endpoint, lane, count } => {
                self.claim(endpoint, Lane::ALL[lane], count).await;
            }
            Call::Settle { newest, verdict, after } => {
                if let Some(claim) = self.claims.len().checked_sub(newest + 1) {
                    self.settle(claim, verdict, after).await;
                }
            }
            Call::Resend { delivery } => {
                let delivery = delivery % self.model.deliveries.len();
                let id = self.model.deliveries[delivery].key.id();
                let outcome = self.store.resend(&id).await;
                if self.model.resend(delivery) {
                    outcome.unwrap();
                } else {
                    assert!(matches!(outcome, Err(StoreError::Invalid { .. })), "{outcome:?}");
                }
            }
            Call::SetEnabled { endpoint, enabled } => {
                let set =
                    self.store.set_endpoint_enabled(&self.endpoints[endpoint].0, enabled).await;
                match self.model.set_enabled(endpoint, enabled) {
                    Some(status) => assert_eq!(set.unwrap().status, status),
                    None => assert!(matches!(set, Err(StoreError::NotFound { .. })), "{set:?}"),
                }
            }
            Call::Remove { endpoint } => {
                let removed = self.store.remove_endpoint(&self.endpoints[endpoint].0).await;
                assert_eq!(removed.unwrap().status, EndpointStatus::Removed);
                self.model.remove(endpoint);
            }
            Call::Recover => {
                let given_back = self.store.recover_claims().await.unwrap();
                assert_eq!(given_back, self.model.recover(), "an embedded store gives all back");
            }
        }
    }

    async fn submit(&mut self) {
        self.submissions += 1;
        let id = SubmissionId::new(&format!("s{}", self.submissions)).unwrap();
        let answers = Answers::parse(format!("{{\"n\":{}}}", self.submissions)).unwrap();
        let form = self.form.clone();
        let new =
            NewSubmission { id: id.clone(), form, answers, revision: None, idempotency: None };
        let at = self.store.submit(new).await.unwrap().instant.micros();
        let listed = self.list(20).await;
        for (endpoint, (endpoint_id, number)) in self.endpoints.iter_mut().enumerate() {
            let made = listed
                .iter()
                .find(|record| record.submission == id && record.endpoint == *endpoint_id);
            let enabled = self.model.endpoints[endpoint] == EndpointStatus::Enabled;
            assert_eq!(made.is_some(), enabled);
            let Some(made) = made else { continue };
            *number = made.key.endpoint;
            let title = self.titles.to_string();
            self.model.deliveries.push(Delivery::new(made.key, endpoint, id.clone(), title, at));
        }
    }

    async fn claim(&mut self, endpoint: usize, lane: Lane, count: u32) {
        let wants = vec![Want { endpoint: self.endpoints[endpoint].1, lane, count }];
        let lease = Duration::from_micros(LEASE.unsigned_abs());
        let request = ClaimRequest { wants, lease, bytes_max: usize::MAX };
        let claims = self.store.claim(request).await.unwrap().deliveries;
        let expected = self.model.claim(endpoint, lane, count);
        assert_eq!(claims.len(), expected.len(), "{lane:?}: {expected:?}");
        for (claimed, delivery) in claims.iter().zip(expected) {
            assert_eq!((claimed.key, &claimed.submission), (delivery.key, &delivery.submission));
            assert_eq!(claimed.form_title, delivery.title);
            assert_eq!((claimed.state, claimed.attempts), (delivery.state, delivery.attempts));
            let place = delivery.place.expect("it is leased");
            assert_eq!((claimed.retries, claimed.claims), (place.retries, place.claims));
            assert_eq!(claimed.resend, place.resend);
            assert_eq!(claimed.lease.until.micros(), place.at);
        }
        self.claims.extend(claims);
    }

    async fn settle(&mut self, claim: usize, verdict: u8, after: i64) {
        let claimed = &self.claims[claim];
        let after = Duration::from_micros(after.unsigned_abs());
        let attempted = !verdict.is_multiple_of(8);
        let used = claimed.retries + u32::from(attempted && !claimed.resend);
        let verdict = match verdict % 8 {
            // Put off, or never begun.
            0 if verdict < 128 => Verdict::Retry { after, retries: used },
            0 => Verdict::Release,
            1 => Verdict::Failed,
            2 | 3 => Verdict::Delivered,
            _ if !claimed.state.is_unfinished() => Verdict::Unchanged,
            _ => Verdict::Retry { after, retries: used },
        };
        let attempt = attempted.then(|| Attempt {
            started_at: FormInstant::from_micros(self.model.now),
            duration: Duration::from_millis(5),
            status: Some(200),
            error: None,
            detail: None,
            address: None,
            snippet: Bytes::new(),
            resend: claimed.resend,
        });
        let settlement = Settlement {
            key: claimed.key,
            lease: claimed.lease,
            verdict,
            attempt,
            own_fault: false,
        };
        let settled = self.store.settle(vec![settlement]).await.unwrap();
        assert_eq!(settled, [self.model.settle(claim, verdict, attempted)]);
    }

    async fn list(&self, limit: u32) -> Vec<DeliveryRecord> {
        let (form, endpoint, state, after) = (self.form.clone(), None, None, None);
        let request = DeliveriesRequest { form, endpoint, state, submission: None, after, limit };
        self.store.deliveries(request).await.unwrap()
    }

    /// What a worker would find to do.
    pub(super) async fn check(&self) {
        let (model, mut due) = (&self.model, self.store.due().await.unwrap());
        due.sort_by_key(|due| (due.endpoint, due.lane));
        let mut expected = Vec::new();
        for (at, (_, number)) in self.endpoints.iter().enumerate() {
            for lane in Lane::ALL {
                let front = model.lane(at, lane).first().map(|(place, _)| place.at);
                if let (Some(front), EndpointStatus::Enabled) = (front, model.endpoints[at]) {
                    let after = if lane == Lane::Fresh { 0 } else { (front - model.now).max(0) };
                    let overdue = if front <= AT_ONCE { 0 } else { (model.now - front).max(0) };
                    expected.push((*number, lane, after, overdue));
                }
            }
        }
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap();
        let due = due.iter().map(|d| (d.endpoint, d.lane, micros(d.after), micros(d.overdue)));
        assert_eq!(due.collect::<Vec<_>>(), expected);
        let places = model.deliveries.iter().filter(|delivery| delivery.place.is_some()).count();
        assert_eq!(self.store.backlog().await.unwrap().unfinished, places as u64);
    }

    /// What a person would see.
    pub(super) async fn check_every_delivery(&self) {
        let listed = self.list(u32::MAX).await;
        assert_eq!(listed.len(), self.model.deliveries.len());
        let shown = |micros| FormInstant::from_micros(micros).to_timestamp();
        for delivery in &self.model.deliveries {
            let record = listed.iter().find(|record| record.key == delivery.key).unwrap();
            assert_eq!((record.state, record.attempts), (delivery.state, delivery.attempts));
            assert_eq!(record.finished_at, delivery.finished.map(shown));
            let pending = delivery.state == DeliveryState::Pending;
            let next = delivery.next.map(|next| next.max(delivery.made));
            let next = next.or_else(|| pending.then_some(delivery.made));
            assert_eq!(record.next_attempt_at, next.map(shown));
            let detail = self.store.delivery(&delivery.key.id()).await.unwrap().unwrap();
            assert_eq!(detail.history.len(), delivery.attempts as usize);
            let waits = delivery.place.is_some();
            assert!(waits || !delivery.state.is_unfinished(), "an unfinished one has a place");
        }
    }

    pub(super) async fn close(&self) {
        self.store.close().await.unwrap();
    }
}
