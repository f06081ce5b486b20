//! The reference service passes all checks of `formsvc-contract`, on both stores.

use std::sync::Arc;
use std::time::{Duration, Instant};

use formsvc_contract::api::{API_ANSWER_MAX, API_CHECKS, ApiOptions, Key, check_api};
use formsvc_contract::report::{Outcome, Report};
use formsvc_contract::send::{HttpSender, HttpSenderOptions};
use formsvc_contract::sender::{SENDER_CHECKS, SenderOptions, check_sender, submit};
use formsvc_protocol::{EndpointId, Form, RetrySchedule};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::delivery::{Deliveries, DeliveryOptions, Equipment, system_random};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::secrets::{KeyFile, Missing, Vault};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::contract::cluster::Cluster;
use formsvc_server::store::postgres::{PostgresOptions, PostgresStore};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{NewEndpoint, SealedSecret, Store, system_clock};
use secrecy::SecretString;
use tokio::net::TcpListener;
use url::Url;

const SECRET: &str = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
/// More submissions than fit on one page.
const SUBMISSIONS: usize = 130;
/// Time for pauses of 200 ms, 600 ms and 1.8 s, each up to 20 % longer.
const SCHEDULE: RetrySchedule =
    RetrySchedule { base: Duration::from_millis(200), factor: 3, jitter: 0.2, retries: 3 };

/// A service with two users and an endpoint program.
struct Deployment {
    admin: Admin,
    base_url: Url,
    key: SecretString,
    revoked_key: SecretString,
    form: Form,
    foreign_form: Form,
    vault: Vault,
    running: Running,
    _folder: tempfile::TempDir,
}

impl Deployment {
    async fn start(store: Arc<dyn Store>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key_file = KeyFile::at(folder.path().join("key"));
        let vault = Vault::new(&key_file.open(Missing::Create).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let ada = admin.create_user("ada@example.org", "Ada").await.unwrap();
        let bob = admin.create_user("bob@example.org", "Bob").await.unwrap();
        let key = admin.create_key(&ada.id, "test").await.unwrap().secret;
        let revoked = admin.create_key(&ada.id, "revoked").await.unwrap();
        let keys = admin.list_keys(&ada.id).await.unwrap();
        let id = &keys.iter().find(|key| key.name == "revoked").unwrap().id;
        admin.revoke_key(id).await.unwrap();
        let form = admin.create_form(&ada.id, FormOptions::titled("Contact")).await.unwrap();
        let foreign_form = admin.create_form(&bob.id, FormOptions::titled("Other")).await.unwrap();
        for number in 0..SUBMISSIONS {
            admin.submit(&form.id, &format!("{{\"number\":{number}}}")).await.unwrap();
        }
        let options = ServeOptions::default();
        let metrics = Arc::clone(&options.metrics);
        let running = Server::bind(options, Arc::clone(&store)).await.unwrap();
        let mut delivery = DeliveryOptions::default();
        delivery.schedule = SCHEDULE;
        let client = ClientOptions { policy: EgressPolicy::dev(), ..ClientOptions::default() };
        let deliveries = Deliveries::start(Equipment {
            store,
            carrier: Arc::new(DeliveryClient::new(client)),
            vault: vault.clone(),
            clock: system_clock(),
            random: system_random(),
            options: delivery,
            metrics,
        });
        let running = running.with_deliveries(deliveries);
        let base_url = running.base_url().parse().unwrap();
        let revoked_key = revoked.secret;
        Self {
            admin,
            base_url,
            key,
            revoked_key,
            form,
            foreign_form,
            vault,
            running,
            _folder: folder,
        }
    }

    fn options(&self) -> ApiOptions {
        ApiOptions {
            base_url: self.base_url.clone(),
            key: Key::new(&self.key).unwrap(),
            form: None,
            revoked_key: Key::new(&self.revoked_key),
            foreign_form: Some(self.foreign_form.id.to_string()),
            spend_quota: true,
            // The wait of a minute is tested with a service of its own.
            max_wait: Duration::ZERO,
            time_limit: Duration::from_secs(300),
        }
    }

    async fn register(&self, url: String) {
        let id = EndpointId::new("whe_contract").unwrap();
        let secret = self.vault.seal(id.as_str().as_bytes(), &SECRET.into()).unwrap();
        let (form, secret) = (self.form.id.clone(), SealedSecret(secret));
        self.admin.store().add_endpoint(NewEndpoint { id, form, url, secret }).await.unwrap();
    }
}

/// Returns the ids of the checks that did not pass.
fn not_passed(reports: &[Report]) -> Vec<&'static str> {
    let wrong = reports.iter().filter(|report| report.outcome != Outcome::Passed);
    wrong.map(|report| report.check.id).collect()
}

async fn assert_passes(store: Arc<dyn Store>) {
    let deployment = Deployment::start(store).await;
    let options = HttpSenderOptions { answer_max: API_ANSWER_MAX, ..HttpSenderOptions::default() };
    let sender = HttpSender::new(options).unwrap();
    let began = Instant::now();
    let api = check_api(&sender, &deployment.options(), |_| true, |_| {}).await;
    assert_eq!(api.reports.len(), API_CHECKS.len());
    assert_eq!(not_passed(&api.reports), ["retry-after-wait"], "{:#?}", api.reports);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(api.profile.requests_per_minute, Some(300));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    deployment.register(format!("http://{}/", listener.local_addr().unwrap())).await;
    let time_limit = Duration::from_secs(60);
    let options = SenderOptions {
        secrets: vec![SECRET.into()],
        masked: Vec::new(),
        time_limit,
        max_pause: None,
    };
    let form = deployment.base_url.join(&deployment.form.url).unwrap();
    let (results, submitted) = tokio::join!(
        check_sender(listener, &options, |_| true, |_| {}),
        submit(&sender, &form, "Message=Hello"),
    );
    submitted.unwrap();
    let results = results.unwrap();
    assert_eq!(results.reports.len(), SENDER_CHECKS.len());
    assert_eq!(not_passed(&results.reports), [""; 0], "{:#?}", results.reports);
    deployment.running.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn service_on_sqlite_passes_the_contract() {
    let store = SqliteStore::in_memory(system_clock()).unwrap();
    assert_passes(Arc::new(store)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn service_on_postgres_passes_the_contract() {
    let Some(cluster) = Cluster::or_skip() else { return };
    let options = PostgresOptions::of(cluster.fresh_schema());
    let store = PostgresStore::open(&options).await.unwrap();
    assert_passes(Arc::new(store)).await;
}
