//! Repeats requests until the service responds, and reports an outage once.

use std::num::NonZeroU32;
use std::time::Duration;

use formsvc_client::{Client, Error, FormHandle, Submission};
use tokio::time::{Instant, sleep};

use crate::context::Context;
use crate::error::{CliError, describe};
use crate::form_cache;
use crate::form_ref::{self, FormMatch};
use crate::settings::args::Rate;

/// Shortest default interval between two requests for new submissions.
const INTERVAL_MIN: Duration = Duration::from_secs(2);
/// Longest pause between two attempts, unless the service asks for more.
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// Repeats requests during an outage, with growing pauses.
pub(in crate::cmd) struct OutageBackoff<'a> {
    cx: &'a Context,
    interval: Duration,
}

impl<'a> OutageBackoff<'a> {
    pub(in crate::cmd) fn new(cx: &'a Context, interval: Duration) -> Self {
        Self { cx, interval }
    }

    /// Repeats a request until it succeeds, or fails for another reason than an outage.
    pub(in crate::cmd) async fn repeat<T>(
        &self,
        request: impl AsyncFn() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let (mut pause, mut began) = (self.interval, None);
        loop {
            match request().await {
                Err(error) if error.is_outage() => {
                    if began.is_none() {
                        began = Some(Instant::now());
                        self.cx.progress.outage(&describe(error.kind(), &error.to_string()));
                    }
                    let jitter = pause.mul_f64(0.5 + fastrand::f64() / 2.0);
                    sleep(jitter.max(error.retry_after().unwrap_or_default())).await;
                    pause = pause.saturating_mul(2).min(PAUSE_MAX);
                }
                result => {
                    if let (Ok(_), Some(began)) = (&result, began) {
                        self.cx.progress.outage_end(began.elapsed());
                    }
                    return result;
                }
            }
        }
    }

    /// Finds the form that FORM names.
    pub(in crate::cmd) async fn find_form(
        &self,
        client: &Client,
        text: &str,
    ) -> Result<FormMatch, CliError> {
        let forms = self.repeat(async || client.forms().await).await?.into_inner();
        form_cache::save(&self.cx.settings, &forms);
        if let Some(form) = form_ref::find_listed(self.cx, &forms, text)? {
            return Ok(form);
        }
        let form =
            self.repeat(async || form_ref::find_unlisted(self.cx, client, text).await).await?;
        form.ok_or_else(|| form_ref::not_found(&forms, text))
    }

    /// Returns the newest submission of a form.
    pub(in crate::cmd) async fn newest(
        &self,
        form: &FormHandle,
    ) -> Result<Option<Submission>, Error> {
        let list = form.submissions().page_size(1).allow_incomplete(true);
        self.repeat(async || list.clone().items().try_next().await).await
    }
}

/// Returns the default interval: 2 s, or the time of two requests at the rate of `--max-rate`, which leaves
/// requests for other programs with the same key.
pub(in crate::cmd) fn default_interval(max_rate: Option<Rate>) -> Duration {
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
    fn default_interval_leaves_requests_for_others() {
        let rate = |rate| Some(Rate::PerMinute(NonZeroU32::new(rate).unwrap()));
        assert_eq!(default_interval(None), Duration::from_secs(2));
        assert_eq!(default_interval(Some(Rate::Off)), Duration::from_secs(2));
        assert_eq!(default_interval(rate(300)), Duration::from_secs(2));
        assert_eq!(default_interval(rate(6)), Duration::from_secs(20));
    }
}
