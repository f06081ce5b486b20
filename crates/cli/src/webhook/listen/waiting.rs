//! Those who wait for their peers, the longest first: where there is no room for another, the one that has
//! waited longest gives way. So whoever sends nothing keeps nobody out, however many they are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Those who wait.
#[derive(Debug, Default)]
pub(super) struct Waiting(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    next: u64,
    /// By when they came.
    waits: BTreeMap<u64, (Instant, Arc<Notify>)>,
}

/// One of them, until it is dropped.
#[derive(Debug)]
pub(super) struct Wait {
    waiting: Arc<Waiting>,
    place: u64,
}

impl Waiting {
    /// One more waits, which is told by this when it is to give way.
    pub(super) fn begin(self: &Arc<Self>, gives_way: &Arc<Notify>) -> Wait {
        let mut queue = self.queue();
        let place = queue.next;
        queue.next += 1;
        queue.waits.insert(place, (Instant::now(), Arc::clone(gives_way)));
        Wait { waiting: Arc::clone(self), place }
    }

    /// Has the one give way that has waited longest, if it has for so long. Says whether one does.
    pub(super) fn make_way(&self, least: Duration) -> bool {
        let mut queue = self.queue();
        let Some(longest) = queue.waits.first_entry() else { return false };
        if longest.get().0.elapsed() < least {
            return false;
        }
        let (_, gives_way) = longest.remove();
        gives_way.notify_one();
        true
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.waiting.queue().waits.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn the_one_that_has_waited_longest_gives_way() {
        let waiting = Arc::new(Waiting::default());
        let [first, second, third] = [(); 3].map(|()| Arc::new(Notify::new()));
        let begun = waiting.begin(&first);
        let _second = waiting.begin(&second);
        advance(SECOND).await;
        let _third = waiting.begin(&third);
        // Whoever has what it waited for waits no longer.
        drop(begun);
        assert!(waiting.make_way(SECOND));
        second.notified().await;
        assert!(!waiting.make_way(SECOND), "the third has not waited for so long");
        assert!(waiting.make_way(Duration::ZERO));
        third.notified().await;
        assert!(!waiting.make_way(Duration::ZERO), "nobody waits any more");
    }
}
