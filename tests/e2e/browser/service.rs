//! A service in this process for the browser tests.

use std::sync::Arc;

use formsvc_protocol::{Form, FormStatus, User};
use formsvc_server::admin::{Admin, FormOptions, Registrar};
use formsvc_server::dashboard::{self, Dashboard, DashboardOptions, DashboardParts};
use formsvc_server::delivery::{Deliveries, DeliveryOptions, Equipment, system_random};
use formsvc_server::egress::{ClientOptions, DeliveryClient, EgressPolicy};
use formsvc_server::fields::Fields;
use formsvc_server::rate_limit::{RateLimit, monotonic_clock};
use formsvc_server::secrets::{ServerKey, Vault};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Store, system_clock};
use formsvc_tests::browser::Browser;
use secrecy::ExposeSecret;

const PASSWORD: &str = "correct horse battery staple";

/// A service with a user. A failed delivery is not retried.
pub(super) struct Service {
    pub(super) admin: Admin,
    pub(super) registrar: Registrar,
    pub(super) user: User,
    running: Running,
}

impl Service {
    /// Starts a service with a user named Ada.
    pub(super) async fn start() -> Self {
        Self::of("Ada").await
    }

    /// Starts a service with a user of this name.
    pub(super) async fn of(name: &str) -> Self {
        let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("ada@example.org", name).await.unwrap();
        let mut options = ServeOptions { rate_limit: RateLimit::Off, ..ServeOptions::default() };
        (options.public.per_address, options.public.per_form) = (RateLimit::Off, RateLimit::Off);
        let metrics = Arc::clone(&options.metrics);
        let policy = EgressPolicy::dev();
        let client = ClientOptions { policy: policy.clone(), ..ClientOptions::default() };
        let carrier = Arc::new(DeliveryClient::new(client));
        let vault = Vault::new(&ServerKey::generate().unwrap());
        let registrar = Registrar::new(vault.clone(), policy);
        let dashboard = Arc::new(Dashboard::new(DashboardParts {
            store: Arc::clone(&store),
            registrar: registrar.clone(),
            vault: vault.clone(),
            carrier: Arc::<DeliveryClient>::clone(&carrier),
            trusted_proxies: Vec::new(),
            clock: monotonic_clock(),
            now: system_clock(),
            options: DashboardOptions::default(),
        }));
        let with_dashboard = |router: axum::Router| router.merge(dashboard::router(&dashboard));
        let running = Server::bind_with(options, Arc::clone(&store), with_dashboard).await.unwrap();
        let mut options = DeliveryOptions::default();
        options.schedule.retries = 0;
        let deliveries = Deliveries::start(Equipment {
            store,
            carrier,
            vault,
            clock: system_clock(),
            random: system_random(),
            options,
            metrics,
        });
        Self { admin, registrar, user, running: running.with_deliveries(deliveries) }
    }

    /// Returns the path of a new link for choosing a password. Earlier links stop working.
    pub(super) async fn welcome(&self) -> String {
        let link = self.admin.create_link(Some(&self.user.id)).await.unwrap();
        link.path().expose_secret().to_owned()
    }

    /// Chooses a password with a link, which also signs the user in.
    pub(super) async fn sign_in(&self, browser: &Browser) {
        browser.open(&self.at(&self.welcome().await)).await;
        browser.fill("Password", PASSWORD).await;
        browser.fill("Password, once more", PASSWORD).await;
        browser.press("Set the password").await;
    }

    pub(super) async fn form(&self, title: &str, fields: &serde_json::Value) -> Form {
        let fields = Fields::parse(&fields.to_string()).unwrap();
        let mut form = FormOptions::titled(title);
        form.status = FormStatus::Published;
        self.admin.create_form_with(&self.user.id, form, Some(fields), None).await.unwrap()
    }

    /// Returns the URL of a path of the service.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.running.base_url())
    }

    /// Returns true for URLs of the service.
    pub(super) fn is_ours(&self, url: &str) -> bool {
        url.strip_prefix(&self.running.base_url()).is_some_and(|path| path.starts_with('/'))
    }

    pub(super) async fn stop(self) {
        self.running.shutdown().await.unwrap();
    }
}
