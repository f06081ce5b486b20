//! Waiting for a service that is not there, and saying so once.

use std::time::Duration;

use formsvc_client::Error;
use tokio::time::{Instant, sleep};

use super::outage;
use crate::context::Context;
use crate::error::told;
use crate::progress::took;

/// How an outage is sat out.
pub(in crate::cmd) struct Patience<'a> {
    cx: &'a Context,
    interval: Duration,
    lost: Option<Lost>,
}

/// Since when the service is not there.
struct Lost {
    since: Instant,
    failures: u32,
}

impl<'a> Patience<'a> {
    pub(in crate::cmd) fn new(cx: &'a Context, interval: Duration) -> Self {
        Self { cx, interval, lost: None }
    }

    /// Waits for another try. Says once that the service is not there.
    pub(in crate::cmd) async fn wait(&mut self, error: &Error) {
        let lost = self.lost.get_or_insert_with(|| {
            let text = format!("{}; asking again until the service answers", told(error));
            self.cx.progress.warn(&text);
            Lost { since: Instant::now(), failures: 0 }
        });
        lost.failures = lost.failures.saturating_add(1);
        let (failures, after) = (lost.failures, error.retry_after());
        sleep(outage::pause(failures, self.interval, after, fastrand::f64())).await;
    }

    /// The service has answered.
    pub(in crate::cmd) fn over(&mut self) {
        if let Some(Lost { since, .. }) = self.lost.take() {
            let after = took(since.elapsed());
            self.cx.progress.remark(&format!("the service is back after {after}"));
        }
    }

    /// Whether the service is not there.
    pub(in crate::cmd) fn is_tried(&self) -> bool {
        self.lost.is_some()
    }
}
