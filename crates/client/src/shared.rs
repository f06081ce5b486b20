//! What all clones of a client share.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::HeaderValue;

use crate::api_key::ApiKey;
use crate::base_url::BaseUrl;
use crate::limit::Gate;
use crate::retry::Budget;
use crate::{Event, RetryPolicy, Timeouts, Transport};

/// Hears of events.
pub(crate) type OnEvent = Arc<dyn Fn(&Event) + Send + Sync>;
/// Tells the wall clock's time.
pub(crate) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
/// Yields numbers in 0..1.
pub(crate) type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// One pool, one key, one limiter, one retry budget.
pub(crate) struct Shared {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) base: BaseUrl,
    pub(crate) key: ApiKey,
    pub(crate) user_agent: HeaderValue,
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: RetryPolicy,
    pub(crate) budget: Budget,
    pub(crate) gate: Gate,
    pub(crate) max_wait: Duration,
    pub(crate) on_event: Option<OnEvent>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl Shared {
    /// Tells an event, which is only made when somebody listens.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Event) {
        if let Some(listener) = &self.on_event {
            listener(&event());
        }
    }
}
