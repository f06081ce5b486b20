//! A semaphore for each key, such as each user.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

/// Gives each key the same number of permits. Keys without a holder or a waiter take no memory.
#[derive(Debug)]
pub(crate) struct KeyedSemaphore<K> {
    permits: usize,
    keys: Mutex<HashMap<K, Arc<Semaphore>>>,
}

impl<K: Hash + Eq + Clone> KeyedSemaphore<K> {
    pub(crate) fn new(permits: usize) -> Self {
        Self { permits, keys: Mutex::default() }
    }

    /// Returns the semaphore of a key.
    pub(crate) fn of(&self, key: &K) -> Arc<Semaphore> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(semaphore) = keys.get(key) {
            return Arc::clone(semaphore);
        }
        // A holder or a waiter has a reference.
        keys.retain(|_, semaphore| Arc::strong_count(semaphore) > 1);
        let semaphore = Arc::new(Semaphore::new(self.permits));
        Arc::clone(keys.entry(key.clone()).or_insert(semaphore))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_permits() {
        let semaphores = KeyedSemaphore::new(2);
        let held: Vec<_> =
            (0..2).map(|_| semaphores.of(&"a").try_acquire_owned().unwrap()).collect();
        assert!(semaphores.of(&"a").try_acquire_owned().is_err());
        assert!(semaphores.of(&"b").try_acquire_owned().is_ok());
        drop(held);
        assert!(semaphores.of(&"a").try_acquire_owned().is_ok());
    }

    #[test]
    fn unused_keys_are_forgotten() {
        let semaphores = KeyedSemaphore::new(1);
        let held = semaphores.of(&0).try_acquire_owned().unwrap();
        for key in 1..100 {
            semaphores.of(&key);
        }
        let keys: Vec<_> = semaphores.keys.lock().unwrap().keys().copied().collect();
        assert!(keys.len() == 2 && keys.contains(&0), "{keys:?}");
        drop(held);
    }
}
