//! How a store tells a worker that there is work, without being asked.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::endpoint::EndpointNo;

/// Endpoints that got deliveries since somebody last looked. A hint: what it forgets, for example with
/// the process, [`Store::due`](super::Store::due) finds.
#[derive(Debug, Default)]
pub struct WorkSignal {
    endpoints: Mutex<BTreeSet<EndpointNo>>,
    more: Notify,
}

impl WorkSignal {
    /// Says that endpoints have work.
    pub fn announce(&self, endpoints: impl IntoIterator<Item = EndpointNo>) {
        let mut known = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.extend(endpoints);
        if known.len() > before {
            self.more.notify_one();
        }
    }

    /// Takes what was announced; empty when nothing was.
    pub fn take(&self) -> BTreeSet<EndpointNo> {
        std::mem::take(&mut *self.endpoints.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits for an announcement since the last one seen here. For one worker.
    pub async fn announced(&self) {
        self.more.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_was_announced_is_taken_once_and_wakes_once() {
        let work = WorkSignal::default();
        assert!(work.announced().now_or_never().is_none());
        work.announce([EndpointNo(2), EndpointNo(1)]);
        work.announce([EndpointNo(2)]);
        assert!(work.announced().now_or_never().is_some());
        assert!(work.announced().now_or_never().is_none());
        assert_eq!(work.take(), BTreeSet::from([EndpointNo(1), EndpointNo(2)]));
        assert!(work.take().is_empty());
        work.announce([]);
        assert!(work.announced().now_or_never().is_none());
    }
}
