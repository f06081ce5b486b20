//! The probes that exceed the rate limit.

use std::time::Instant;

use formsvc_protocol::limits::{RATE_LIMIT, RATE_WINDOW};
use futures_util::future::join_all;
use http::HeaderMap;
use http::header::RETRY_AFTER;

use super::judge::whole_seconds;
use super::probe::{Exchange, Probe};
use super::session::{Probed, Session, WINDOW_MARGIN};

/// Requests that are sent at once to exceed the rate limit.
const BURST: usize = 10;
/// Requests that exceed any rate limit of [`RATE_LIMIT`] in a minute: a fixed minute that ends meanwhile
/// admits twice as many.
const OVERLOAD_MAX: usize = 2 * RATE_LIMIT as usize + BURST;

impl<F: FnMut(&str)> Session<'_, F> {
    /// Exceeds the rate limit. If a request is refused too early, earlier requests of another client may
    /// have counted: tries again after a minute without requests.
    pub(super) async fn overload(&mut self) -> Probed {
        if !self.options.spend_quota {
            return Err("needs --spend-quota".to_owned());
        }
        let exchanges = self.burst_until_refused().await;
        let pause = RATE_WINDOW + WINDOW_MARGIN;
        let is_early = exchanges.last().is_some_and(|last| {
            last.is_refused_by_rate_limit() && last.recent < RATE_LIMIT as usize
        });
        if !is_early || pause > self.options.max_wait {
            return Ok(exchanges);
        }
        (self.on_request)("waiting for a minute without requests");
        tokio::time::sleep(pause).await;
        self.sent.clear();
        Ok(self.burst_until_refused().await)
    }

    /// Sends requests until one is refused. Returns the last that passed and the first refused.
    async fn burst_until_refused(&mut self) -> Vec<Exchange> {
        let began = Instant::now();
        let mut passed = None;
        for _ in 0..OVERLOAD_MAX / BURST {
            (self.on_request)("GET /api/v1/me, until the rate limit refuses it");
            let (url, key) = (self.url(&["me"], &[]), Some(&self.options.key));
            let burst = (0..BURST).map(|_| self.exchange(url.clone(), key, HeaderMap::new()));
            let mut answers = join_all(burst).await;
            let now = Instant::now();
            self.sent.retain(|at| now.duration_since(*at) < RATE_WINDOW);
            let refused = answers.iter().position(Exchange::is_refused_by_rate_limit);
            let is_accepted = |answer: &&Exchange| !answer.is_refused_by_rate_limit();
            let accepted = answers.iter().filter(is_accepted).count();
            self.sent.extend(std::iter::repeat_n(now, accepted));
            if let Some(at) = refused {
                let mut refused = answers.swap_remove(at);
                refused.recent = self.sent.len();
                refused.took = began.elapsed();
                return passed.into_iter().chain([refused]).collect();
            }
            passed = answers.pop();
        }
        passed.into_iter().collect()
    }

    /// Waits as long as the service asked, then sends one request.
    pub(super) async fn wait_and_read(&mut self) -> Result<Exchange, String> {
        let refused = self.get(Probe::Overload).await?.last();
        let refused = refused.filter(|exchange| exchange.is_refused_by_rate_limit());
        let wait = refused.and_then(|exchange| whole_seconds(exchange.header(&RETRY_AFTER)?));
        let wait = wait.ok_or("the rate limit announced no wait")?;
        if wait > self.options.max_wait {
            return Err(format!("the wait of {wait:?} is longer than --max-wait"));
        }
        tokio::time::sleep(wait).await;
        let url = self.url(&["me"], &[]);
        Ok(self.exchange(url, Some(&self.options.key), HeaderMap::new()).await)
    }
}
