//! The state that clones of a client share.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime};

use http::HeaderMap;

use crate::api_key::ApiKey;
use crate::base_url::BaseUrl;
use crate::event::ClientEvent;
use crate::limiter::Limiter;
use crate::retry::Budget;
use crate::transport::Transport;
use crate::{RequestOptions, RetryPolicy, Timeouts};

pub(crate) type OnEvent = Arc<dyn Fn(&ClientEvent) + Send + Sync>;
/// The wall clock.
pub(crate) type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;
/// Returns numbers in 0..1.
pub(crate) type Random = Arc<dyn Fn() -> f64 + Send + Sync>;

/// The settings of calls.
#[derive(Clone)]
pub(crate) struct CallSettings {
    pub(crate) timeouts: Timeouts,
    pub(crate) retry: RetryPolicy,
    pub(crate) max_wait: Duration,
    pub(crate) max_body: usize,
    /// Headers of these calls only.
    pub(crate) headers: HeaderMap,
    pub(crate) on_event: Option<OnEvent>,
    pub(crate) clock: Clock,
    pub(crate) random: Random,
}

impl Default for CallSettings {
    fn default() -> Self {
        Self {
            timeouts: Timeouts::default(),
            retry: RetryPolicy::default(),
            max_wait: Duration::from_secs(120),
            // Twice the size at which the service ends a page.
            max_body: 32 << 20,
            headers: HeaderMap::new(),
            on_event: None,
            clock: Arc::new(SystemTime::now),
            random: Arc::new(random),
        }
    }
}

/// Returns a number in 0..1 that differs between processes and calls; jitter needs no more. The
/// standard library seeds each state anew.
fn random() -> f64 {
    let bits = RandomState::new().hash_one(0_u8) >> (u64::BITS - 32);
    f64::from(u32::try_from(bits).expect("32 bits are left")) / f64::from(u32::MAX)
}

/// One connection pool, API key, limiter and retry budget, and the settings of calls. Clones of a
/// client share all of it; clients with other settings share the pool, limiter and budget.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) base: BaseUrl,
    pub(crate) key: Arc<ApiKey>,
    /// Sent with every request, `User-Agent` included.
    pub(crate) headers: HeaderMap,
    pub(crate) budget: Arc<Budget>,
    pub(crate) limiter: Arc<Limiter>,
    /// The number of calls so far.
    pub(crate) calls: Arc<AtomicU64>,
    pub(crate) settings: CallSettings,
}

impl Shared {
    /// Returns the same with other settings of calls.
    pub(crate) fn with_options(&self, options: RequestOptions) -> Result<Self, String> {
        let mut other = self.clone();
        let settings = &mut other.settings;
        settings.timeouts.attempt = options.attempt.unwrap_or(settings.timeouts.attempt);
        settings.timeouts.overall = options.overall.unwrap_or(settings.timeouts.overall);
        settings.timeouts.check()?;
        if let Some(retry) = options.retry {
            retry.check()?;
            settings.retry = retry;
        }
        for header in options.headers {
            let (name, value) = header?;
            settings.headers.insert(name, value);
        }
        Ok(other)
    }

    /// Passes an event to the listener, and logs it with the feature `tracing`.
    pub(crate) fn emit(&self, event: &ClientEvent) {
        #[cfg(feature = "tracing")]
        crate::event::log(event);
        if let Some(listener) = &self.settings.on_event {
            listener(event);
        }
    }
}
