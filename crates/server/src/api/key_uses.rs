//! When API keys were used last, noted in memory and written now and then: no request waits for it, and
//! a busy key is written once a minute.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use formsvc_protocol::{FormInstant, KeyId};

use crate::causes::on_one_line;
use crate::store::{Clock, Store, StoreError};

/// How often what was noted is written.
const EVERY: Duration = Duration::from_secs(60);

/// Uses of keys that are not written yet: one for each key, its last.
pub(crate) struct KeyUses {
    store: Arc<dyn Store>,
    clock: Clock,
    noted: Mutex<HashMap<KeyId, FormInstant>>,
    /// Whose turn it is to write.
    turn: tokio::sync::Mutex<()>,
}

/// Uses that are being written. Those that are left when it is dropped are noted again: a write may fail,
/// and be dropped with the loop that waits for it.
struct Batch<'a> {
    uses: HashMap<KeyId, FormInstant>,
    of: &'a KeyUses,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        let mut noted = self.of.noted();
        for (key, at) in self.uses.drain() {
            let newer = noted.entry(key).or_insert(at);
            *newer = at.max(*newer);
        }
    }
}

impl KeyUses {
    pub(super) fn new(store: Arc<dyn Store>, clock: Clock) -> Self {
        Self { store, clock, noted: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// Notes that a key is being used.
    pub(super) fn note(&self, key: &KeyId) {
        let now = (self.clock)();
        let mut noted = self.noted();
        match noted.get_mut(key) {
            Some(at) => *at = now.max(*at),
            None => drop(noted.insert(key.clone(), now)),
        }
    }

    /// Writes what was noted, after what is being written. What cannot be written is kept, and written
    /// the next time.
    pub(crate) async fn write(&self) -> Result<(), StoreError> {
        self.write_by(|list| self.store.note_key_uses(list)).await
    }

    async fn write_by<F>(
        &self,
        put: impl FnOnce(Vec<(KeyId, FormInstant)>) -> F,
    ) -> Result<(), StoreError>
    where
        F: Future<Output = Result<(), StoreError>>,
    {
        // Dropped after the batch, so that whoever waits finds what is put back.
        let _turn = self.turn.lock().await;
        let mut batch = Batch { uses: std::mem::take(&mut *self.noted()), of: self };
        if batch.uses.is_empty() {
            return Ok(());
        }
        put(batch.uses.iter().map(|(key, at)| (key.clone(), *at)).collect()).await?;
        batch.uses.clear();
        Ok(())
    }

    /// Writes what was noted, for as long as it is left running.
    pub(crate) async fn keep_written(self: Arc<Self>) {
        loop {
            tokio::time::sleep(EVERY).await;
            if let Err(error) = self.write().await {
                let cause = on_one_line(&error);
                tracing::warn!(cause, "the last uses of keys could not be written");
            }
        }
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<KeyId, FormInstant>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::admin::Admin;
    use crate::store::sqlite::SqliteStore;
    use crate::store::system_clock;

    struct World {
        admin: Admin,
        key: KeyId,
        owner: formsvc_protocol::UserId,
        now: Arc<AtomicI64>,
        uses: Arc<KeyUses>,
    }

    impl World {
        async fn new() -> Self {
            let store: Arc<dyn Store> = Arc::new(SqliteStore::in_memory(system_clock()).unwrap());
            let admin = Admin::new(Arc::clone(&store));
            let owner = admin.create_user("a@example.org", "A").await.unwrap().id;
            let key = admin.create_key(&owner, "laptop").await.unwrap().record.id;
            let now = Arc::new(AtomicI64::new(1_000_000));
            let clock = Arc::clone(&now);
            let clock: Clock =
                Arc::new(move || FormInstant::from_micros(clock.load(Ordering::SeqCst)));
            let uses = Arc::new(KeyUses::new(store, clock));
            Self { admin, key, owner, now, uses }
        }

        fn use_at(&self, second: i64) {
            self.now.store(second * 1_000_000, Ordering::SeqCst);
            self.uses.note(&self.key);
        }

        /// The second of the last use, as the key is listed.
        async fn last(&self) -> Option<i64> {
            // Behind whatever is being written.
            self.admin.store().note_key_uses(Vec::new()).await.unwrap();
            let keys = self.admin.list_keys(&self.owner).await.unwrap();
            let used = keys[0].last_used_at.clone()?;
            Some(used.as_str()[17..19].parse().unwrap())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn uses_are_written_once_a_minute_and_not_before() {
        let world = World::new().await;
        let keeping = tokio::spawn(Arc::clone(&world.uses).keep_written());
        tokio::time::sleep(Duration::from_millis(1)).await;
        world.use_at(1);
        world.use_at(2);
        tokio::time::sleep(EVERY.saturating_sub(Duration::from_millis(2))).await;
        assert_eq!(world.uses.noted().len(), 1, "one for each key");
        tokio::time::sleep(Duration::from_millis(2)).await;
        assert!(world.uses.noted().is_empty());
        assert_eq!(world.last().await, Some(2));
        world.use_at(3);
        // Time passed by itself while the store was waited for.
        tokio::time::sleep(2 * EVERY).await;
        assert!(world.uses.noted().is_empty());
        assert_eq!(world.last().await, Some(3));
        keeping.abort();
    }

    #[tokio::test]
    async fn a_clock_that_steps_back_takes_no_use_with_it() {
        let world = World::new().await;
        world.use_at(9);
        world.use_at(5);
        world.uses.write().await.unwrap();
        assert_eq!(world.last().await, Some(9));
        assert!(world.uses.noted().is_empty());
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_kept() {
        let world = World::new().await;
        world.use_at(5);
        world.admin.store().close().await.unwrap();
        assert!(world.uses.write().await.is_err());
        world.use_at(7);
        assert!(world.uses.write().await.is_err());
        let noted: Vec<_> = world.uses.noted().values().copied().collect();
        assert_eq!(noted, [FormInstant::from_micros(7_000_000)]);
    }
    /// A write that hangs, as far as the store.
    async fn begun(
        uses: &KeyUses,
    ) -> std::pin::Pin<Box<impl Future<Output = Result<(), StoreError>>>> {
        let mut hanging = Box::pin(uses.write_by(|_| std::future::pending()));
        assert!(tokio::time::timeout(Duration::ZERO, &mut hanging).await.is_err());
        assert!(uses.noted().is_empty());
        hanging
    }

    #[tokio::test]
    async fn what_is_being_written_when_the_loop_is_ended_is_kept() {
        let world = World::new().await;
        world.use_at(5);
        drop(begun(&world.uses).await);
        assert_eq!(world.uses.noted().len(), 1);
        world.uses.write().await.unwrap();
        assert_eq!(world.last().await, Some(5));
    }

    #[tokio::test]
    async fn the_last_write_waits_for_the_one_before_it() {
        let world = World::new().await;
        world.use_at(5);
        let hanging = begun(&world.uses).await;
        let mut last = Box::pin(world.uses.write());
        assert!(tokio::time::timeout(Duration::ZERO, &mut last).await.is_err());
        drop(hanging);
        last.await.unwrap();
        assert_eq!(world.last().await, Some(5));
    }
}
