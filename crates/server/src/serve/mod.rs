//! Serving over TCP: accept, keep slow clients in check, shut down without losing a request.
//!
//! ```no_run
//! # async fn demo(store: std::sync::Arc<dyn formsvc_server::store::Store>)
//! # -> Result<(), Box<dyn std::error::Error>> {
//! use formsvc_server::serve::{ServeOptions, Server};
//! let running = Server::bind(ServeOptions::default(), store).await?;
//! println!("{}", running.base_url());
//! running.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod activity;
mod connection;
mod listener;
mod maintenance;
mod options;
mod peers;
mod signal;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::{self, Api, Edge, KeyUses};
use crate::causes::on_one_line;
use crate::delivery::Deliveries;
use crate::fault_point::fault_point;
use crate::health::{self, Health};
use crate::metrics::{self, Metrics};
use crate::openapi;
use crate::public::{self, Public};
use crate::rate_limit::{RateLimiter, monotonic_clock};
use crate::store::{Store, StoreError, system_clock};
use crate::supervise::supervise;
use listener::Slots;

pub use options::ServeOptions;
pub use signal::{Signals, StopSignal};

/// The address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on `{addr}`")]
pub struct BindError {
    /// The address.
    pub addr: SocketAddr,
    /// What the system said.
    #[source]
    pub source: std::io::Error,
}

/// What attempts to deliver have beyond the deadline of requests, to have their outcomes recorded.
const RECORDING_GRACE: Duration = Duration::from_secs(2);

/// Who is at the other end of a connection; every request that came over one carries it as an
/// extension. Behind a proxy it is the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// How far a server is on its way down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Answers.
    Serving,
    /// Takes nothing new and finishes what it has.
    Draining,
    /// Drops what it has.
    Killed,
}

/// How a shutdown went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Connections that were still open at the deadline, and were cut.
    pub abandoned: usize,
}

/// Starts servers.
#[derive(Debug)]
pub struct Server;

impl Server {
    /// Serves the API, the public forms and the health probes of a store.
    pub async fn bind(options: ServeOptions, store: Arc<dyn Store>) -> Result<Running, BindError> {
        Self::bind_with(options, store, |router| router).await
    }

    /// As [`bind`](Self::bind), with something of the caller's around the router, inside the
    /// middleware stack: fault injection, more routes.
    pub async fn bind_with(
        options: ServeOptions,
        store: Arc<dyn Store>,
        wrap: impl FnOnce(Router) -> Router,
    ) -> Result<Running, BindError> {
        let health = Arc::new(Health::new(Arc::clone(&store)));
        let limiter = RateLimiter::new(options.rate_limit, monotonic_clock());
        let metrics = Arc::clone(&options.metrics);
        store.observe(Arc::<Metrics>::clone(&metrics));
        let api = Api::new(Arc::clone(&store), limiter).counted_by(Arc::clone(&metrics));
        let key_uses = api.key_uses();
        let public = Public::new(
            Arc::clone(&store),
            options.public.clone(),
            monotonic_clock(),
            system_clock(),
        )
        .counted_by(Arc::clone(&metrics));
        let router = api::router(Arc::new(api))
            .merge(health::router(Arc::clone(&health)))
            .merge(public::router(Arc::new(public)))
            .merge(openapi::router())
            .merge(metrics::router(metrics));
        let mut running = Self::bind_router(options, wrap(router)).await?;
        let tidied = Arc::clone(&store);
        let maintenance = tokio::spawn(supervise("maintenance", move || {
            maintenance::keep_tidy(Arc::clone(&tidied))
        }));
        let noted = Arc::clone(&key_uses);
        let noting = tokio::spawn(supervise("key uses", move || Arc::clone(&noted).keep_written()));
        let loops = [maintenance, noting];
        running.backing = Some(Backing { store, health, key_uses, loops });
        Ok(running)
    }

    /// Serves any router through the whole middleware stack; what a benchmark puts a constant page
    /// behind. Of the options the rate limit has no effect.
    pub async fn bind_router(options: ServeOptions, router: Router) -> Result<Running, BindError> {
        let addr = options.addr;
        let refused = |source| BindError { addr, source };
        let listener = TcpListener::bind(addr).await.map_err(refused)?;
        let local_addr = listener.local_addr().map_err(refused)?;
        let (phase, watched) = watch::channel(Phase::Serving);
        let slots = Arc::new(Slots::new(options.connections_max, Arc::clone(&options.metrics)));
        let accepting = listener::accept(
            listener,
            Edge::new(router)
                .counted_by(Arc::clone(&options.metrics))
                .with_budget(options.response_budget.clone()),
            options.clone(),
            Arc::clone(&slots),
            watched,
        );
        let accepting = tokio::spawn(accepting);
        Ok(Running {
            local_addr,
            options,
            phase,
            slots,
            accepting,
            backing: None,
            deliveries: None,
        })
    }
}

struct Backing {
    store: Arc<dyn Store>,
    health: Arc<Health>,
    key_uses: Arc<KeyUses>,
    loops: [JoinHandle<()>; 2],
}

impl Backing {
    fn stop_loops(&self) {
        self.loops.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        self.stop_loops();
    }
}

/// A server that answers. Dropping it stops it at once; [`shutdown`](Self::shutdown) lets requests
/// finish.
pub struct Running {
    local_addr: SocketAddr,
    options: ServeOptions,
    phase: watch::Sender<Phase>,
    slots: Arc<Slots>,
    accepting: JoinHandle<()>,
    backing: Option<Backing>,
    deliveries: Option<Deliveries>,
}

impl Running {
    /// The address it listens on, with the port the system chose if none was asked for.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Where a client on this machine finds it, without a slash at the end.
    pub fn base_url(&self) -> String {
        let ip = match self.local_addr.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, self.local_addr.port()))
    }

    /// Has deliveries stop with the server: they use its store.
    #[must_use]
    pub fn with_deliveries(mut self, deliveries: Deliveries) -> Self {
        self.deliveries = Some(deliveries);
        self
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.slots.open()
    }

    /// Turns readiness red, stops accepting, lets requests finish until the deadline of the options
    /// and cuts those that have not; meanwhile attempts to deliver finish and their outcomes are
    /// recorded. Then the store is closed.
    ///
    /// Fails when the store does; the connections are gone by then.
    pub async fn shutdown(self) -> Result<Stopped, StoreError> {
        if let Some(backing) = &self.backing {
            backing.health.stop();
        }
        self.phase.send_replace(Phase::Draining);
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the accept loop failed");
        }
        let deadline = self.options.shutdown_deadline;
        let drained = tokio::time::timeout(deadline, self.slots.all_free());
        let delivered = async {
            if let Some(deliveries) = self.deliveries {
                deliveries.stop(deadline + RECORDING_GRACE).await;
            }
        };
        let (drained, ()) = tokio::join!(drained, delivered);
        let abandoned = drained.map_or_else(|_| self.slots.open(), |()| 0);
        self.phase.send_replace(Phase::Killed);
        fault_point!(BeforeClose);
        if let Some(backing) = self.backing {
            // Before the loop that writes them too is ended, perhaps in the middle of it.
            if let Err(error) = backing.key_uses.write().await {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "the last uses of keys could not be written");
            }
            backing.stop_loops();
            backing.store.close().await?;
        }
        Ok(Stopped { abandoned })
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("local_addr", &self.local_addr).finish_non_exhaustive()
    }
}
