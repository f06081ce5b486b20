//! How a store tells a worker that there is work, without being asked.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use super::delivery::Lane;
use super::endpoint::EndpointNo;

/// Lanes that got something to do since somebody last looked. A hint: what it forgets, for example
/// with the process, [`Store::due`](super::Store::due) finds.
#[derive(Debug, Default)]
pub struct WorkSignal {
    lanes: Mutex<BTreeSet<(EndpointNo, Lane)>>,
    more: Notify,
}

impl WorkSignal {
    /// Says that lanes have work.
    pub fn announce(&self, lanes: impl IntoIterator<Item = (EndpointNo, Lane)>) {
        let mut known = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.len();
        known.extend(lanes);
        if known.len() > before {
            self.more.notify_one();
        }
    }

    /// Takes what was announced; empty when nothing was.
    pub fn take(&self) -> BTreeSet<(EndpointNo, Lane)> {
        std::mem::take(&mut *self.lanes.lock().unwrap_or_else(PoisonError::into_inner))
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
        let (one, two) = ((EndpointNo(1), Lane::Late), (EndpointNo(2), Lane::Fresh));
        work.announce([two, one]);
        work.announce([two]);
        assert!(work.announced().now_or_never().is_some());
        assert!(work.announced().now_or_never().is_none());
        assert_eq!(work.take(), BTreeSet::from([one, two]));
        assert!(work.take().is_empty());
        work.announce([]);
        assert!(work.announced().now_or_never().is_none());
    }
}
