//! Permits for connections and for memory.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::wait_queue::WaitQueue;

/// Wait for a closed connection to release its permits.
const CLOSE_TIME: Duration = Duration::from_millis(50);

/// Permits for a limited resource, and the connections that have permits and wait for data from their peers.
pub(super) struct Permits {
    semaphore: Arc<Semaphore>,
    pub(super) waiting: WaitQueue,
}

impl Permits {
    pub(super) fn new(count: usize) -> Self {
        Self { semaphore: Arc::new(Semaphore::new(count)), waiting: WaitQueue::default() }
    }

    /// Acquires permits. While too few permits are free, closes connections that wait for their peers.
    pub(super) async fn acquire(&self, count: u32) -> OwnedSemaphorePermit {
        // The asynchronous method may wait even if permits are free, because a task yields from time to time.
        if let Ok(permit) = Arc::clone(&self.semaphore).try_acquire_many_owned(count) {
            return permit;
        }
        let mut acquiring = std::pin::pin!(Arc::clone(&self.semaphore).acquire_many_owned(count));
        loop {
            self.waiting.close_first();
            if let Ok(permit) = timeout(CLOSE_TIME, acquiring.as_mut()).await {
                return permit.expect("the semaphore is never closed");
            }
        }
    }
}
