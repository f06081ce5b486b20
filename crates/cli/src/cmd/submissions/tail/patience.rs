//! Repeats requests until the service answers, and reports an outage once.

use std::num::NonZeroU32;
use std::time::Duration;

use formsvc_client::Error;
use tokio::time::{Instant, sleep};

use crate::context::Context;
use crate::error::told;
use crate::settings::args::Rate;

/// Shortest default interval between two requests for new submissions.
const INTERVAL_MIN: Duration = Duration::from_secs(2);
/// Longest pause between two attempts, unless the service asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Repeats requests during an outage.
pub(in crate::cmd) struct Patience<'a> {
    cx: &'a Context,
    interval: Duration,
}

impl<'a> Patience<'a> {
    pub(in crate::cmd) fn new(cx: &'a Context, interval: Duration) -> Self {
        Self { cx, interval }
    }

    /// Repeats a request until it succeeds, or fails by something other than an outage.
    pub(in crate::cmd) async fn repeat<T>(
        &self,
        request: impl AsyncFn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (mut pause, mut lost) = (self.interval, None);
        loop {
            match request().await {
                Err(error) if error.is_outage() => {
                    if lost.is_none() {
                        lost = Some(Instant::now());
                        self.cx.progress.outage(&told(&error));
                    }
                    let jitter = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
                    sleep(jitter.max(error.retry_after().unwrap_or_default())).await;
                    pause = pause.saturating_mul(2).min(PAUSE_MAX);
                }
                result => {
                    if let (Ok(_), Some(since)) = (&result, lost) {
                        self.cx.progress.outage_end(since.elapsed());
                    }
                    return result;
                }
            }
        }
    }
}

/// Returns the default interval: 2 s, or the time of two requests at the rate of `--max-rate`, so that other
/// programs with the same key have the rest.
pub(in crate::cmd) fn interval(max_rate: Option<Rate>) -> Duration {
    let half = |rate: NonZeroU32| Duration::from_secs(120) / rate.get();
    match max_rate {
        Some(Rate::PerMinute(rate)) => half(rate).max(INTERVAL_MIN),
        Some(Rate::Off) | None => INTERVAL_MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_leaves_requests_for_others() {
        let rate = |rate| Some(Rate::PerMinute(NonZeroU32::new(rate).unwrap()));
        assert_eq!(interval(None), Duration::from_secs(2));
        assert_eq!(interval(Some(Rate::Off)), Duration::from_secs(2));
        assert_eq!(interval(rate(300)), Duration::from_secs(2));
        assert_eq!(interval(rate(6)), Duration::from_secs(20));
    }
}
