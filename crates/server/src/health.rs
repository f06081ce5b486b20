//! Health probes, outside authorization and the rate limit.
//!
//! `/livez` says that the process answers. `/readyz` says that it should get requests: the store
//! takes a write that changes nothing, and the service is not shutting down.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::api::{Cause, Problem, Trail, text_cause};
use crate::store::Store;

/// Time the store has to answer a probe.
const PROBE_DEADLINE: Duration = Duration::from_secs(2);
/// How long a probe's result stands: probes need no key, and each would cost a write.
const PROBE_VALID: Duration = Duration::from_secs(1);

/// What a probe of the store came to, and when.
type Probed = (Instant, Result<(), Cause>);

/// The state behind the probes.
pub struct Health {
    store: Arc<dyn Store>,
    stopping: AtomicBool,
    /// The last probe; nothing in it while it is under way.
    last: Mutex<Option<watch::Receiver<Option<Probed>>>>,
}

impl Health {
    /// The health of a service on a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, stopping: AtomicBool::new(false), last: Mutex::new(None) }
    }

    /// Turns readiness red for good.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    /// Whether the service should get requests, and if not, which check failed.
    async fn check(&self) -> Result<(), Problem> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(Problem::unavailable("not ready: shutting down", None));
        }
        self.probed().await.map_err(|cause| {
            Problem::unavailable("not ready: the check `store` failed", Some(cause))
        })
    }

    /// The result of the last probe while it stands, or of the one under way, or of a new one. Those who
    /// ask meanwhile share it, and it ends whether or not they wait for it: whoever asks and goes away
    /// costs no probe of their own.
    async fn probed(&self) -> Result<(), Cause> {
        let mut probe = self.last_or_new();
        let probed = probe.wait_for(Option::is_some).await;
        let result =
            probed.ok().and_then(|probed| probed.as_ref().map(|(_, result)| result.clone()));
        result.unwrap_or_else(|| Err(text_cause("the probe panicked".to_owned())))
    }

    fn last_or_new(&self) -> watch::Receiver<Option<Probed>> {
        // Nothing panics while it is held.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let stands = |probe: &&watch::Receiver<Option<Probed>>| match &*probe.borrow() {
            Some((at, _)) => at.elapsed() < PROBE_VALID,
            // Unless it panicked.
            None => probe.has_changed().is_ok(),
        };
        if let Some(probe) = last.as_ref().filter(stands) {
            return probe.clone();
        }
        let (tell, probed) = watch::channel(None);
        let store = Arc::clone(&self.store);
        tokio::spawn(async move {
            let result = probe(store).await;
            tell.send_replace(Some((Instant::now(), result)));
        });
        last.insert(probed).clone()
    }
}

async fn probe(store: Arc<dyn Store>) -> Result<(), Cause> {
    match tokio::time::timeout(PROBE_DEADLINE, store.probe()).await {
        Ok(result) => result.map_err(|error| Arc::new(error) as Cause),
        Err(_) => Err(text_cause(format!("the probe took longer than {PROBE_DEADLINE:?}"))),
    }
}

impl std::fmt::Debug for Health {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Health").field("stopping", &self.stopping).finish_non_exhaustive()
    }
}

/// The routes `/livez` and `/readyz`.
pub fn router(health: Arc<Health>) -> Router {
    Router::new().route("/livez", get(live)).route("/readyz", get(ready)).with_state(health)
}

async fn live() -> Response {
    let trail = Trail { routine: true, ..Trail::of("/livez") };
    trail.close(Ok(Bytes::from_static(br#"{"status":"live"}"#)))
}

async fn ready(State(health): State<Arc<Health>>) -> Response {
    let trail = Trail { routine: true, ..Trail::of("/readyz") };
    let answer = health.check().await;
    trail.close(answer.map(|()| Bytes::from_static(br#"{"status":"ready"}"#)))
}
