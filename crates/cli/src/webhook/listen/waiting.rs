//! Those who wait for their peers, the longest first. Whoever has waited for as long as it may gives way, and
//! where there is no room for another, the one that has waited longest. So whoever sends nothing keeps nobody
//! out, however many they are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

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

    /// Has each give way that has waited for so long, until this is dropped. One timer for all: with one of
    /// its own, each request would pay for two that never end.
    pub(super) async fn watch(self: Arc<Self>, most: Duration) {
        loop {
            let longest =
                self.queue().waits.first_key_value().map(|(_, (since, _))| since.elapsed());
            // Sleeps because being too slow is a matter of time. Whoever comes meanwhile has more of it left.
            sleep(most.saturating_sub(longest.unwrap_or_default())).await;
            while self.make_way(most) {}
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wait {
    /// Whether it has been told to give way.
    pub(super) fn gave_way(&self) -> bool {
        !self.waiting.queue().waits.contains_key(&self.place)
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        self.waiting.queue().waits.remove(&self.place);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const MILLISECOND: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn the_one_that_has_waited_longest_gives_way() {
        let waiting = Arc::new(Waiting::default());
        let [first, second, third] = [(); 3].map(|()| Arc::new(Notify::new()));
        let begun = waiting.begin(&first);
        let gone = waiting.begin(&second);
        advance(SECOND).await;
        let left = waiting.begin(&third);
        // Whoever has what it waited for waits no longer.
        drop(begun);
        assert!(waiting.make_way(SECOND));
        second.notified().await;
        assert!(gone.gave_way() && !left.gave_way());
        assert!(!waiting.make_way(SECOND), "the third has not waited for so long");
        assert!(waiting.make_way(Duration::ZERO));
        third.notified().await;
        assert!(!waiting.make_way(Duration::ZERO), "nobody waits any more");
    }

    #[tokio::test(start_paused = true)]
    async fn each_gives_way_when_its_own_time_is_over() {
        let waiting = Arc::new(Waiting::default());
        tokio::spawn(Arc::clone(&waiting).watch(SECOND));
        // It sleeps by now, for nobody.
        tokio::task::yield_now().await;
        advance(SECOND / 2).await;
        let began = Instant::now();
        let [first, second] = [(); 2].map(|()| Arc::new(Notify::new()));
        let _first = waiting.begin(&first);
        advance(SECOND / 4).await;
        let _second = waiting.begin(&second);
        let patience = 10 * SECOND;
        let mut times = Vec::new();
        for told in [&first, &second] {
            timeout(patience, told.notified()).await.unwrap();
            times.push(began.elapsed());
        }
        // The clock of timers has milliseconds.
        for (time, exact) in times.into_iter().zip([SECOND, SECOND + SECOND / 4]) {
            assert!((exact..=exact + MILLISECOND).contains(&time), "{time:?}");
        }
    }
}
