//! A service in this process, with a user, an API key and a form.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use formsvc_client::transport::{AttemptContext, BoxFuture, Transport, TransportError};
use formsvc_client::{Client, Form, RateLimit as ClientRateLimit, User};
use formsvc_server::admin::{Admin, FormOptions};
use formsvc_server::api::{self, Api, Edge};
use formsvc_server::faults::Faults;
use formsvc_server::rate_limit::{MonotonicClock, RateLimit, RateLimiter, monotonic_clock};
use formsvc_server::serve::{Running, ServeOptions, Server};
use formsvc_server::store::sqlite::SqliteStore;
use formsvc_server::store::{Clock, Store, system_clock};
use http_body_util::BodyExt;
use secrecy::{ExposeSecret, SecretString};

/// A service with a database in memory.
pub struct Service {
    /// The store.
    pub store: Arc<dyn Store>,
    /// The admin API of the store.
    pub admin: Admin,
    /// The owner of the form.
    pub user: User,
    /// An API key of the user.
    pub key: SecretString,
    /// A published form.
    pub form: Form,
}

impl Service {
    /// Creates a service with a store that uses this clock.
    pub async fn new(clock: Clock) -> Self {
        let store = SqliteStore::in_memory(clock).expect("a database in memory opens");
        let store: Arc<dyn Store> = Arc::new(store);
        let admin = Admin::new(Arc::clone(&store));
        let user = admin.create_user("ada@example.org", "Ada").await.expect("a new user");
        let key = admin.create_key(&user.id, "test").await.expect("a new key").secret;
        let form = admin.create_form(&user.id, FormOptions::titled("Test"));
        let form = form.await.expect("a new form");
        Self { store, admin, user, key, form }
    }

    /// Creates a service with the system clock.
    pub async fn now() -> Self {
        Self::new(system_clock()).await
    }

    /// Listens on loopback, without a rate limit.
    pub async fn serve(&self) -> Running {
        self.serve_with(&Faults::new()).await
    }

    /// Listens on loopback with faults, without a rate limit.
    pub async fn serve_with(&self, faults: &Faults) -> Running {
        let options = ServeOptions { rate_limit: RateLimit::Off, ..ServeOptions::default() };
        let store = Arc::clone(&self.store);
        let running = Server::bind_with(options, store, |router| faults.around(router)).await;
        running.expect("loopback has a free port")
    }

    /// Returns the service without sockets. Its rate limit uses the given clock.
    pub fn in_process(&self, limit: RateLimit, clock: MonotonicClock) -> InProcess {
        let limiter = RateLimiter::new(limit, clock);
        let api = Arc::new(Api::new(Arc::clone(&self.store), limiter));
        InProcess { edge: Edge::new(api::router(api)), without_key: false }
    }

    /// Returns the service without sockets and without a rate limit, with faults.
    pub fn in_process_with(&self, faults: &Faults) -> InProcess {
        let limiter = RateLimiter::new(RateLimit::Off, real_clock());
        let api = Arc::new(Api::new(Arc::clone(&self.store), limiter));
        InProcess { edge: Edge::new(faults.around(api::router(api))), without_key: false }
    }

    /// Returns a client of a running service, without a rate limit of its own.
    pub fn client(&self, running: &Running) -> Client {
        Client::builder()
            .base_url(running.base_url())
            .api_key(self.key.expose_secret())
            .rate_limit(ClientRateLimit::off())
            .build()
            .expect("the settings are valid")
    }
}

/// The rate limit of SPEC §8 with another number of requests.
pub fn per_minute(requests: u32) -> RateLimit {
    RateLimit::per_minute(NonZeroU32::new(requests).expect("not zero"))
}

/// Tokio's clock, which a test can pause and advance.
pub fn tokio_clock() -> MonotonicClock {
    let start = tokio::time::Instant::now();
    Arc::new(move || start.elapsed())
}

/// The monotonic clock of the system.
pub fn real_clock() -> MonotonicClock {
    monotonic_clock()
}

/// The service as a transport of the SDK, without sockets.
#[derive(Clone)]
pub struct InProcess {
    edge: Edge,
    without_key: bool,
}

impl InProcess {
    /// Removes the API key from every request.
    #[must_use]
    pub fn without_key(mut self) -> Self {
        self.without_key = true;
        self
    }

    /// Responds to a request.
    pub async fn answer(&self, request: http::Request<Bytes>) -> http::Response<Bytes> {
        let mut request = request;
        if self.without_key {
            request.headers_mut().remove(http::header::AUTHORIZATION);
        }
        let host = http::HeaderValue::from_static("formsvc.test");
        request.headers_mut().entry(http::header::HOST).or_insert(host);
        let response = self.edge.answer(request.map(http_body_util::Full::new)).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("the body is in memory").to_bytes();
        http::Response::from_parts(parts, body)
    }
}

impl Transport for InProcess {
    fn send<'a>(
        &'a self,
        request: http::Request<Bytes>,
        _: &'a AttemptContext,
    ) -> BoxFuture<'a, Result<http::Response<Bytes>, TransportError>> {
        Box::pin(async move { Ok(self.answer(request).await) })
    }
}

/// Returns a builder of clients that use the service without sockets.
pub fn client_over(transport: InProcess, key: &SecretString) -> formsvc_client::ClientBuilder {
    Client::builder()
        .base_url("https://formsvc.test")
        .api_key(key.expose_secret())
        .transport(transport)
        .max_wait(Duration::from_secs(600))
        .timeouts(formsvc_client::Timeouts::new().overall(None))
}
