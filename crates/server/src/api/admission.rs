//! Who asks, and whether they may now.

use std::sync::Arc;
use std::time::Duration;

use formsvc_protocol::{ErrorCode, User};
use http::{HeaderMap, HeaderValue};
use subtle::ConstantTimeEq;

use super::authorization;
use super::key_uses::KeyUses;
use super::problem::{Problem, text_cause};
use super::trail::Trail;
use crate::api_key;
use crate::metrics::{Limit, Metrics};
use crate::rate_limit::RateLimiter;
use crate::store::{
    Authenticated, KeyHash, PageRequest, Store, StoreFuture, StoredPage, system_clock,
};

/// Time the store has for one call; far more than any should take.
const STORE_DEADLINE: Duration = Duration::from_secs(10);

/// What the API's handlers share.
pub struct Api {
    store: Arc<dyn Store>,
    limiter: RateLimiter<KeyHash>,
    metrics: Arc<Metrics>,
    key_uses: Arc<KeyUses>,
}

impl Api {
    /// The API of a store, with a limiter of its own, which counts unless the store does.
    pub fn new(store: Arc<dyn Store>, limiter: RateLimiter<KeyHash>) -> Self {
        let key_uses = Arc::new(KeyUses::new(Arc::clone(&store), system_clock()));
        Self { store, limiter, metrics: Metrics::new(), key_uses }
    }

    /// Has refusals counted there, and not where nobody looks.
    #[must_use]
    pub fn counted_by(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics, ..self }
    }

    /// Judges the key of a request, then its quota, and gives its owner.
    pub async fn admit(&self, headers: &HeaderMap, trail: &mut Trail) -> Result<User, Problem> {
        let hash = api_key::hash(authorization::bearer_token(headers)?);
        let found = within_deadline(self.store.authenticate(&hash, self.limiter.limit())).await?;
        self.judge(&hash, found, trail)
    }

    /// The page that a request asks for: judges its key and its quota, has `asked` say which page its
    /// owner asks for, and reads that.
    pub async fn page(
        &self,
        headers: &HeaderMap,
        trail: &mut Trail,
        asked: impl FnOnce(User) -> Result<PageRequest, Problem> + Send,
    ) -> Result<StoredPage, Problem> {
        let hash = api_key::hash(authorization::bearer_token(headers)?);
        let mut refused = None;
        let judge = |found| {
            let request = self.judge(&hash, found, trail).and_then(asked);
            request.map_err(|problem| refused = Some(problem)).ok()
        };
        let call = self.store.page_for_key(&hash, self.limiter.limit(), Box::new(judge));
        let page = within_deadline(call).await?;
        refused.map_or(Ok(()), Err)?;
        page.ok_or_else(Problem::form_not_found)
    }

    /// Judges whoever was found to have a key.
    fn judge(
        &self,
        hash: &KeyHash,
        found: Option<Authenticated>,
        trail: &mut Trail,
    ) -> Result<User, Problem> {
        let found = found.filter(|found| bool::from(found.hash.0.ct_eq(&hash.0)));
        let Some(found) = found else { return Err(authorization::unknown_key()) };
        let key = trail.key.insert(found.key);
        if found.revoked {
            return Err(Problem::new(ErrorCode::KeyRevoked, "this key was revoked"));
        }
        self.key_uses.note(key);
        // Counted by the store when other processes count there too, else here.
        let counted = found.counted.unwrap_or_else(|| self.limiter.admit(hash));
        counted.map_err(|wait| {
            self.metrics.rate_limited(Limit::ApiKey);
            Problem::rate_limited(wait)
        })?;
        Ok(found.user)
    }

    /// When the keys of requests were used last, for whoever has it written.
    pub(crate) fn key_uses(&self) -> Arc<KeyUses> {
        Arc::clone(&self.key_uses)
    }

    /// Returns the value of the header `RateLimit-Policy`; `None` without a limit.
    pub(super) fn rate_policy(&self) -> Option<HeaderValue> {
        HeaderValue::try_from(self.limiter.limit().policy()?.to_string()).ok()
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}

/// Waits for the store, but not for ever: a wedged store is answered with 503.
pub(crate) async fn within_deadline<T>(call: StoreFuture<'_, T>) -> Result<T, Problem> {
    let Ok(answer) = tokio::time::timeout(STORE_DEADLINE, call).await else {
        let cause = text_cause(format!("the store took longer than {STORE_DEADLINE:?}"));
        return Err(Problem::unavailable("the service cannot answer now", Some(cause)));
    };
    answer.map_err(Problem::from)
}
