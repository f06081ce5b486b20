//! A store with a form and endpoints, and a worker that delivers on loopback.

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::{DeliveryId, EndpointId, Form, FormId, RetrySchedule, SubmissionId, UserId};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::delivery::{
    Carrier, Deliveries, DeliveryOptions, Equipment, Slots, system_random,
};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::metrics::Metrics;
use formsvc_server::secrets::Vault;
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{
    DeliveriesRequest, DeliveryDetail, DeliveryKey, DeliveryRecord, DeliveryState, NewEndpoint,
    SealedSecret, Store, system_clock,
};
use secrecy::SecretString;

/// Longer than any attempt takes here.
pub(super) const GRACE: Duration = Duration::from_secs(20);

pub(super) struct World {
    pub(super) store: Arc<dyn Store>,
    pub(super) admin: Admin,
    pub(super) vault: Vault,
    pub(super) form: Form,
    pub(super) user: UserId,
}

/// Retries come within milliseconds.
pub(super) fn options() -> DeliveryOptions {
    let mut options = DeliveryOptions::default();
    options.schedule =
        RetrySchedule { base: Duration::from_millis(20), factor: 2, jitter: 0.0, retries: 3 };
    options.timeout = Duration::from_secs(20);
    options
}

pub(super) fn slots(in_all: u32, per_endpoint: u32) -> Slots {
    Slots { in_all, per_endpoint }
}

pub(super) fn carrier() -> Arc<dyn Carrier> {
    let policy = EgressPolicy::dev();
    Arc::new(DeliveryClient::new(ClientOptions { policy, ..ClientOptions::default() }))
}

impl World {
    pub(super) async fn new() -> Self {
        Self::on(Arc::new(SqliteStore::in_memory(system_clock()).unwrap())).await
    }

    pub(super) async fn on(store: Arc<dyn Store>) -> Self {
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("owner@example.org", "Owner").await.unwrap();
        let form = admin.create_form(&user.id, FormOptions::titled("Café \"1\"")).await.unwrap();
        Self { store, admin, vault: Vault::ephemeral().unwrap(), form, user: user.id }
    }

    pub(super) fn deliver(&self, options: DeliveryOptions) -> Deliveries {
        self.deliver_by(carrier(), options)
    }

    pub(super) fn deliver_by(
        &self,
        carrier: Arc<dyn Carrier>,
        options: DeliveryOptions,
    ) -> Deliveries {
        Deliveries::start(self.equipment(carrier, options))
    }

    pub(super) fn equipment(
        &self,
        carrier: Arc<dyn Carrier>,
        options: DeliveryOptions,
    ) -> Equipment {
        Equipment {
            store: Arc::clone(&self.store),
            carrier,
            vault: self.vault.clone(),
            clock: system_clock(),
            random: system_random(),
            options,
            metrics: Metrics::new(),
        }
    }

    pub(super) fn seal(&self, endpoint: &EndpointId, secret: &str) -> SealedSecret {
        let secret = SecretString::from(secret.to_owned());
        SealedSecret(self.vault.seal(endpoint.as_str().as_bytes(), &secret).unwrap())
    }

    /// An endpoint with the secret `whsec_` and its id.
    pub(super) async fn endpoint(&self, id: &str, url: String) -> EndpointId {
        let id = EndpointId::new(id).unwrap();
        let secret = self.seal(&id, &format!("whsec_{id}"));
        let form = self.form.id.clone();
        self.store.add_endpoint(NewEndpoint { id: id.clone(), form, url, secret }).await.unwrap();
        id
    }

    pub(super) async fn submit(&self, answers: &str) -> SubmissionId {
        self.submit_to(&self.form.id, answers).await
    }

    pub(super) async fn submit_to(&self, form: &FormId, answers: &str) -> SubmissionId {
        self.admin.submit(form, answers).await.unwrap().id
    }

    pub(super) async fn deliveries(&self) -> Vec<DeliveryRecord> {
        let form = self.form.id.clone();
        let request = DeliveriesRequest {
            form,
            endpoint: None,
            state: None,
            submission: None,
            after: None,
            limit: 10_000,
        };
        self.store.deliveries(request).await.unwrap()
    }

    pub(super) async fn detail(&self, key: DeliveryKey) -> DeliveryDetail {
        self.store.delivery(&key.id()).await.unwrap().unwrap()
    }

    /// The only delivery, once it is in a state.
    pub(super) async fn until(&self, state: DeliveryState) -> DeliveryDetail {
        let id = self.deliveries().await[0].key.id();
        self.until_is(&id, |detail| detail.record.state == state).await
    }

    /// Waits until nothing is to be delivered any more.
    pub(super) async fn until_idle(&self) {
        while self.store.backlog().await.unwrap().unfinished > 0 {
            // Sleeps because polling without a pause takes the processor from what it waits for.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(super) async fn until_is(
        &self,
        id: &DeliveryId,
        wanted: impl Fn(&DeliveryDetail) -> bool,
    ) -> DeliveryDetail {
        loop {
            let detail = self.store.delivery(id).await.unwrap().unwrap();
            if wanted(&detail) {
                return detail;
            }
            // Sleeps because polling without a pause takes the processor from what it waits for.
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
