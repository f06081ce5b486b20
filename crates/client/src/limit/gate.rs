//! Where calls wait until they may send.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::RateLimit;
use super::state::{State, Wait};

/// How long a waiter lets those before it go first, once the limit has room. Whoever is polled has
/// gone by then; whoever is not, a request of a stream whose owner is busy, holds nobody up.
const AFTER_YOU: Duration = Duration::from_millis(1);

/// One per client, shared by its clones. First come, first served; a waiter that is dropped has
/// taken nothing, and neither it nor one that is not polled holds anybody up.
#[derive(Debug)]
pub(crate) struct Gate {
    start: Instant,
    state: Mutex<State>,
    queue: Mutex<Queue>,
}

/// Those who wait, by the order they came in.
#[derive(Debug, Default)]
struct Queue {
    next: u64,
    waiting: BTreeSet<u64>,
}

/// A place in the queue, until it is dropped.
struct Place<'a> {
    gate: &'a Gate,
    number: u64,
}

/// The wait would be longer than the caller's patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) wait: Duration,
}

impl Gate {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let state = Mutex::new(State::new(limit));
        Self { start: Instant::now(), state, queue: Mutex::default() }
    }

    /// Waits until a request may be sent, and counts it. Says at once when that would take longer
    /// than `patience`, as far as it can be known; `on_wait` hears of each wait as it begins.
    pub(crate) async fn pass(
        &self,
        patience: Duration,
        mut on_wait: impl FnMut(Wait),
    ) -> Result<(), Refusal> {
        let since = Instant::now();
        let place = self.queue_up();
        let mut was_polite = false;
        loop {
            let tries = was_polite || place.is_first();
            let wait = if tries {
                match self.state().try_pass(self.now()) {
                    Ok(()) => return Ok(()),
                    Err(wait) => Some(wait),
                }
            } else {
                self.state().foreseen(self.now())
            };
            was_polite = wait.is_none();
            let Some(wait) = wait else {
                sleep(AFTER_YOU).await;
                continue;
            };
            refuse_beyond(patience.saturating_sub(since.elapsed()), wait)?;
            on_wait(wait);
            // A cool-down may begin or grow during the sleep; the next turn of the loop sees it.
            sleep(wait.duration).await;
        }
    }

    fn queue_up(&self) -> Place<'_> {
        let mut queue = self.queue();
        let number = queue.next;
        queue.next += 1;
        queue.waiting.insert(number);
        Place { gate: self, number }
    }

    /// A 429 arrived that asks for this wait.
    pub(crate) fn cool_down(&self, wait: Duration) {
        self.state().cool_down(self.now(), wait);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no code panics while it holds this lock")
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds this lock")
    }
}

impl Place<'_> {
    fn is_first(&self) -> bool {
        self.gate.queue().waiting.first() == Some(&self.number)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.gate.queue().waiting.remove(&self.number);
    }
}

fn refuse_beyond(patience: Duration, wait: Wait) -> Result<(), Refusal> {
    if wait.duration > patience { Err(Refusal { wait: wait.duration }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_comes_as_the_limit_has_room_does_not_overtake_who_waits() {
        let gate = Gate::new(RateLimit::per_minute(NonZeroU32::MIN));
        let patience = Duration::from_secs(600);
        gate.pass(Duration::ZERO, |_| {}).await.unwrap();
        let Err(Refusal { wait }) = gate.pass(Duration::ZERO, |_| {}).await else {
            panic!("the limit is reached")
        };
        let order = Mutex::new(Vec::new());
        let pass = async |name| {
            gate.pass(patience, |_| {}).await.unwrap();
            order.lock().unwrap().push(name);
        };
        let comes_later = async {
            sleep(wait).await;
            pass("later").await;
        };
        // Polled first, and at the instant at which the other may pass.
        tokio::join!(biased; comes_later, pass("first"));
        assert_eq!(*order.lock().unwrap(), ["first", "later"]);
    }
}
