//! What a client is made of.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue};

use crate::api_key::ApiKey;
use crate::base_url::BaseUrl;
use crate::limit::Gate;
use crate::retry::Budget;
use crate::{Event, RateLimit, RequestOptions, RetryPolicy, Timeouts, Transport};

/// Hears of events.
pub(crate) type OnEvent = Arc<dyn Fn(&Event) + Send + Sync>;
/// Tells the wall clock's time.
pub(crate) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
/// Yields numbers in 0..1.
pub(crate) type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// One pool, one key, one limiter, one retry budget, and the settings of calls. Clients that differ
/// in settings share the parts; clones share the whole.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) base: BaseUrl,
    pub(crate) key: Arc<ApiKey>,
    pub(crate) user_agent: HeaderValue,
    /// Sent along with every request.
    pub(crate) headers: HeaderMap,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: Arc<Budget>,
    pub(crate) rate_limit: RateLimit,
    pub(crate) gate: Arc<Gate>,
    pub(crate) max_wait: Duration,
    pub(crate) max_body: usize,
    pub(crate) on_event: Option<OnEvent>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl Shared {
    /// The same with other settings of calls; the options were checked.
    pub(crate) fn with_options(&self, options: RequestOptions) -> Self {
        let RequestOptions { attempt, overall, retry, max_wait, headers } = options;
        let mut other = self.clone();
        other.timeouts.attempt = attempt.unwrap_or(self.timeouts.attempt);
        other.timeouts.overall = overall.unwrap_or(self.timeouts.overall);
        other.retry = retry.unwrap_or(other.retry);
        other.max_wait = max_wait.unwrap_or(self.max_wait);
        for (name, value) in &headers {
            other.headers.insert(name, value.clone());
        }
        other
    }

    /// The same with another key. Limits are counted per key (SPEC §8), and one account's failures
    /// are not another's.
    pub(crate) fn with_key(&self, key: ApiKey) -> Self {
        Self {
            key: Arc::new(key),
            gate: Arc::new(Gate::new(self.rate_limit)),
            budget: Arc::new(Budget::new(self.budget.retries())),
            ..self.clone()
        }
    }

    /// Tells an event, which is only made when somebody listens.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(listener) = &self.on_event {
            listener(&event());
        }
    }
}
