//! A queue of the connections that wait for data from their peers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Connections that wait for the head or body of a request, in the order in which they began to wait. When connections
/// or memory run out, the listener closes the first in the queue, so that silent peers do not block others.
#[derive(Debug, Default)]
pub(super) struct WaitQueue(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    last_key: u64,
    /// Tokens that close the connections.
    connections: BTreeMap<u64, CancellationToken>,
}

impl WaitQueue {
    /// Appends a connection and returns its key, which is not 0.
    pub(super) fn push(&self, close: CancellationToken) -> u64 {
        let mut waiting = self.waiting();
        waiting.last_key += 1;
        let key = waiting.last_key;
        waiting.connections.insert(key, close);
        key
    }

    /// Removes a connection. Returns false if it is not in the queue.
    pub(super) fn remove(&self, key: u64) -> bool {
        self.waiting().connections.remove(&key).is_some()
    }

    /// Closes and removes the first connection. Returns false if the queue is empty.
    pub(super) fn close_first(&self) -> bool {
        let first = self.waiting().connections.pop_first();
        first.map(|(_, close)| close.cancel()).is_some()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_closed_in_order() {
        let (queue, tokens) = (WaitQueue::default(), [(); 3].map(|()| CancellationToken::new()));
        let keys = tokens.clone().map(|token| queue.push(token));
        assert!(queue.remove(keys[0]) && !queue.remove(keys[0]));
        assert!(queue.close_first());
        assert_eq!([false, true, false], tokens.map(|token| token.is_cancelled()));
        assert!(!queue.remove(keys[1]), "it was closed");
        assert!(queue.close_first() && !queue.close_first());
    }
}
