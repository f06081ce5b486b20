//! Health probes, outside authorization and the rate limit.
//!
//! `/livez` says that the process answers. `/readyz` says that it should get requests: the store
//! takes a write that changes nothing, and the service is not shutting down.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use tokio::sync::Mutex;

use crate::api::{Cause, Problem, Trail, text_cause};
use crate::store::Store;

/// Time the store has to answer a probe.
const PROBE_DEADLINE: Duration = Duration::from_secs(2);
/// How long a probe's result stands: probes need no key, and each would cost a write.
const PROBE_VALID: Duration = Duration::from_secs(1);

/// The state behind the probes.
pub struct Health {
    store: Arc<dyn Store>,
    stopping: AtomicBool,
    last: Mutex<Option<(Instant, Result<(), Cause>)>>,
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
        // One probe at a time: those who wait here share its result.
        let mut last = self.last.lock().await;
        let fresh = last.as_ref().filter(|(at, _)| at.elapsed() < PROBE_VALID);
        let result = if let Some((_, result)) = fresh {
            result.clone()
        } else {
            let result = self.probe().await;
            *last = Some((Instant::now(), result.clone()));
            result
        };
        result.map_err(|cause| {
            Problem::unavailable("not ready: the check `store` failed", Some(cause))
        })
    }

    async fn probe(&self) -> Result<(), Cause> {
        match tokio::time::timeout(PROBE_DEADLINE, self.store.probe()).await {
            Ok(result) => result.map_err(|error| Arc::new(error) as Cause),
            Err(_) => Err(text_cause(format!("the probe took longer than {PROBE_DEADLINE:?}"))),
        }
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
