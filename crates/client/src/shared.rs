//! The state that clones of a client share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderMap;

use crate::api_key::ApiKey;
use crate::base_url::BaseUrl;
use crate::limiter::Limiter;
use crate::retry::Budget;
use crate::{ClientEvent, RequestOptions, RetryPolicy, Timeouts, Transport};

pub(crate) type OnEvent = Arc<dyn Fn(&ClientEvent) + Send + Sync>;
/// The wall clock.
pub(crate) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
/// Returns numbers in 0..1.
pub(crate) type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// One connection pool, API key, limiter and retry budget, and the settings of calls. Clones of a
/// client share all of it; clients with other settings share the pool, limiter and budget.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) base: BaseUrl,
    pub(crate) key: Arc<ApiKey>,
    /// Sent with every request, `User-Agent` included.
    pub(crate) headers: HeaderMap,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: Arc<Budget>,
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) max_wait: Duration,
    pub(crate) max_body: usize,
    pub(crate) on_event: Option<OnEvent>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl Shared {
    /// Returns the same with other settings of calls.
    pub(crate) fn with_options(&self, options: RequestOptions) -> Result<Self, String> {
        let mut other = self.clone();
        for header in options.headers {
            let (name, value) = header?;
            other.headers.insert(name, value);
        }
        other.timeouts.attempt = options.attempt.unwrap_or(self.timeouts.attempt);
        other.timeouts.overall = options.overall.unwrap_or(self.timeouts.overall);
        other.timeouts.check()?;
        other.retry = options.retry.unwrap_or(other.retry);
        other.max_wait = options.max_wait.unwrap_or(self.max_wait);
        Ok(other)
    }

    /// Returns the same with another key. The service counts requests per key (SPEC §8), and the
    /// failures of one account must not use up the retries of another.
    pub(crate) fn with_key(&self, key: ApiKey) -> Self {
        Self {
            key: Arc::new(key),
            limiter: Arc::new(self.limiter.for_other_key()),
            budget: Arc::new(Budget::new(self.budget.retries())),
            ..self.clone()
        }
    }
}
