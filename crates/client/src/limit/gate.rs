//! Where calls wait until they may send.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::RateLimit;
use super::state::{State, Wait};

/// One per client, shared by its clones. First come, first served; a waiter that is dropped has
/// taken nothing and holds nobody up.
#[derive(Debug)]
pub(crate) struct Gate {
    start: Instant,
    state: Mutex<State>,
    /// Held by the one who waits at the front.
    front: tokio::sync::Mutex<()>,
}

/// The wait would be longer than the caller's patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) wait: Duration,
}

impl Gate {
    pub(crate) fn new(limit: RateLimit) -> Self {
        let state = Mutex::new(State::new(limit));
        Self { start: Instant::now(), state, front: tokio::sync::Mutex::new(()) }
    }

    /// Waits until a request may be sent, and counts it. Says at once when that would take longer
    /// than `patience`, as far as it can be known; `on_wait` hears of each wait as it begins.
    pub(crate) async fn pass(
        &self,
        patience: Duration,
        mut on_wait: impl FnMut(Wait),
    ) -> Result<(), Refusal> {
        let since = Instant::now();
        if let Ok(_front) = self.front.try_lock() {
            return self.pass_front(since, patience, &mut on_wait).await;
        }
        if let Some(wait) = self.state().foreseen(self.now()) {
            refuse_beyond(patience, wait)?;
            on_wait(wait);
        }
        let Ok(_front) = timeout(patience, self.front.lock()).await else {
            let wait = self.state().foreseen(self.now()).map_or(Duration::ZERO, |w| w.duration);
            return Err(Refusal { wait });
        };
        self.pass_front(since, patience, &mut on_wait).await
    }

    async fn pass_front(
        &self,
        since: Instant,
        patience: Duration,
        on_wait: &mut impl FnMut(Wait),
    ) -> Result<(), Refusal> {
        loop {
            let Err(wait) = self.state().try_pass(self.now()) else { return Ok(()) };
            refuse_beyond(patience.saturating_sub(since.elapsed()), wait)?;
            on_wait(wait);
            // A cool-down may begin or grow during the sleep; the next turn of the loop sees it.
            sleep(wait.duration).await;
        }
    }

    /// A 429 arrived that asks for this wait.
    pub(crate) fn cool_down(&self, wait: Duration) {
        self.state().cool_down(self.now(), wait);
    }

    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no code panics while it holds this lock")
    }
}

fn refuse_beyond(patience: Duration, wait: Wait) -> Result<(), Refusal> {
    if wait.duration > patience { Err(Refusal { wait: wait.duration }) } else { Ok(()) }
}
