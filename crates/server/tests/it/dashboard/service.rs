//! A service with a dashboard, listening; a store in memory, and passwords that cost little.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use formsvc_protocol::{Form, FormStatus, PublicId, RetrySchedule, User};
use formsvc_server::admin::{Admin, FormOptions, Registrar};
use formsvc_server::dashboard::{self, Dashboard, DashboardOptions, DashboardParts, Hashing, Site};
use formsvc_server::delivery::{Deliveries, DeliveryOptions, Equipment, system_random};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::fields::Fields;
use formsvc_server::metrics::Metrics;
use formsvc_server::secrets::Vault;
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Clock, Store, system_clock};
use secrecy::ExposeSecret;

use super::browser::Browser;
use crate::watched::Watched;

pub(super) const EMAIL: &str = "ada@example.org";
pub(super) const PASSWORD: &str = "correct horse battery";

pub(super) struct Service {
    pub(super) base: String,
    pub(super) store: Arc<dyn Store>,
    /// The same store, to look at what is asked of it.
    pub(super) watched: Arc<Watched>,
    pub(super) admin: Admin,
    pub(super) vault: Vault,
    /// Passwords that were hashed.
    pub(super) hashed: Arc<AtomicU64>,
    /// Milliseconds that have passed for the limits.
    passed: Arc<AtomicU64>,
    _running: Running,
}

/// What a service is to be like.
pub(super) struct Wanted {
    pub(super) site: Site,
    pub(super) store_clock: Clock,
    pub(super) delivers: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        Self { site: Site::default(), store_clock: system_clock(), delivers: false }
    }
}

impl Service {
    pub(super) async fn new() -> Self {
        Self::with(Wanted::default()).await
    }

    pub(super) async fn with(wanted: Wanted) -> Self {
        let kept = SqliteStore::in_memory(Arc::clone(&wanted.store_clock)).unwrap();
        let watched = Arc::new(Watched::new(Arc::new(kept)));
        let store: Arc<dyn Store> = Arc::<Watched>::clone(&watched);
        let vault = Vault::ephemeral().unwrap();
        let policy = EgressPolicy::dev();
        let client = ClientOptions { policy: policy.clone(), ..ClientOptions::default() };
        let carrier = Arc::new(DeliveryClient::new(client));
        let (hashed, passed) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let clock = Arc::clone(&passed);
        let hashing = Hashing { memory_kib: 8, passes: 1, computed: Arc::clone(&hashed) };
        let dashboard = Arc::new(Dashboard::new(DashboardParts {
            store: Arc::clone(&store),
            registrar: Registrar::new(vault.clone(), policy),
            vault: vault.clone(),
            carrier: Arc::<DeliveryClient>::clone(&carrier),
            trusted_proxies: Vec::new(),
            clock: Arc::new(move || Duration::from_millis(clock.load(Ordering::Relaxed))),
            now: system_clock(),
            options: DashboardOptions { site: wanted.site, hashing, ..Default::default() },
        }));
        let with_dashboard = |router: axum::Router| router.merge(dashboard::router(&dashboard));
        let options = ServeOptions::default();
        let running = Server::bind_with(options, Arc::clone(&store), with_dashboard).await;
        let mut running = running.unwrap();
        if wanted.delivers {
            let mut options = DeliveryOptions::default();
            options.schedule = RetrySchedule {
                base: Duration::from_millis(5),
                factor: 1,
                jitter: 0.0,
                retries: 1,
            };
            running = running.with_deliveries(Deliveries::start(Equipment {
                store: Arc::clone(&store),
                carrier,
                vault: vault.clone(),
                clock: system_clock(),
                random: system_random(),
                options,
                metrics: Metrics::new(),
            }));
        }
        let admin = Admin::new(Arc::clone(&store));
        let base = running.base_url();
        Self { base, store, watched, admin, vault, hashed, passed, _running: running }
    }

    pub(super) fn browser(&self) -> Browser {
        Browser::new(&self.base)
    }

    /// Lets time pass for the limits.
    pub(super) fn pass(&self, time: Duration) {
        self.passed.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }

    pub(super) fn hashed(&self) -> u64 {
        self.hashed.load(Ordering::Relaxed)
    }

    /// A user with [`PASSWORD`], set by a link.
    pub(super) async fn user(&self, email: &str) -> User {
        let user = self.admin.create_user(email, "Ada").await.unwrap();
        let link = self.admin.create_link(Some(&user.id)).await.unwrap();
        let path = link.path();
        let url = path.expose_secret();
        let browser = self.browser();
        browser.get(url).await.is(200);
        let answer = browser.post(url, &[("password", PASSWORD), ("again", PASSWORD)]).await;
        assert_eq!(answer.leads(), "/dashboard?said=password-set");
        user
    }

    /// A browser of a new user who is signed in.
    pub(super) async fn member(&self) -> (Browser, User) {
        self.member_named(EMAIL).await
    }

    pub(super) async fn member_named(&self, email: &str) -> (Browser, User) {
        let user = self.user(email).await;
        let browser = self.browser();
        let answer = sign_in(&browser, email, PASSWORD).await;
        assert_eq!(answer.leads(), "/dashboard");
        browser.get("/dashboard").await.is(200);
        (browser, user)
    }

    pub(super) async fn form(&self, user: &User, public_id: &str, fields: Option<&str>) -> Form {
        let options = FormOptions {
            public_id: Some(PublicId::new(public_id).unwrap()),
            title: format!("Form {public_id}"),
            status: FormStatus::Published,
        };
        let fields = fields.map(|json| Fields::parse(json).unwrap());
        self.admin.create_form_with(&user.id, options, fields, None).await.unwrap()
    }
}

/// Opens the page, and signs in.
pub(super) async fn sign_in(
    browser: &Browser,
    email: &str,
    password: &str,
) -> super::browser::Answer {
    browser.get("/dashboard/sign-in").await.is(200);
    browser.post("/dashboard/sign-in", &[("email", email), ("password", password)]).await
}
