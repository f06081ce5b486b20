//! Keeping loops alive: none ever ends on an error.

use std::time::Duration;

use tokio::task::JoinSet;

const PAUSE_MIN: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Pauses that double from 50 ms to 5 s.
#[derive(Debug)]
pub(crate) struct Backoff(Duration);

impl Default for Backoff {
    fn default() -> Self {
        Self(PAUSE_MIN)
    }
}

impl Backoff {
    /// Waits, and the next time twice as long.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.0).await;
        self.0 = (self.0 * 2).min(PAUSE_MAX);
    }

    /// Begins anew after a success.
    pub(crate) fn reset(&mut self) {
        self.0 = PAUSE_MIN;
    }
}

/// Runs a loop as a task, and again when it panics, until it ends by itself. Dropped, it ends the loop.
pub(crate) async fn supervise<F>(name: &'static str, mut begin: impl FnMut() -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut backoff = Backoff::default();
    // Ends its task when it is dropped.
    let mut running = JoinSet::new();
    loop {
        running.spawn(begin());
        match running.join_next().await {
            Some(Err(error)) if error.is_panic() => {
                // What a panic says may hold a stranger's text; it is on standard error.
                tracing::error!(name, "a loop panicked and is begun again");
                backoff.pause().await;
            }
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_panics_is_begun_again_until_it_ends() {
        let begun = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&begun);
        supervise("test", move || {
            let number = counter.fetch_add(1, Ordering::SeqCst);
            async move { assert!(number >= 3, "broken") }
        })
        .await;
        assert_eq!(begun.load(Ordering::SeqCst), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_five_seconds_and_begin_anew() {
        let mut backoff = Backoff::default();
        let mut pauses = Vec::new();
        for _ in 0..9 {
            let began = tokio::time::Instant::now();
            backoff.pause().await;
            pauses.push(began.elapsed().as_millis());
        }
        assert_eq!(pauses[..3], [50, 100, 200]);
        assert_eq!(pauses[7..], [5_000, 5_000]);
        backoff.reset();
        assert_eq!(backoff.0, PAUSE_MIN);
    }
}
