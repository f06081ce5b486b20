//! What is carried out to its end, whoever waits for it.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::runtime::Handle;

/// A future that a task of its own carries on with once this is dropped. Until then it needs none, and is
/// run by whoever waits for it.
pub(super) struct Lasting<F: Future + Send + 'static>(Option<Pin<Box<F>>>)
where
    F::Output: Send;

impl<F> Lasting<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    pub(super) fn of(future: F) -> Self {
        Self(Some(Box::pin(future)))
    }
}

impl<F> Future for Lasting<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // Not there while it runs: what panics is not carried on with.
        let mut future = self.0.take().expect("it is not waited for once it has ended");
        let polled = future.as_mut().poll(cx);
        if polled.is_pending() {
            self.0 = Some(future);
        }
        polled
    }
}

impl<F> Drop for Lasting<F>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn drop(&mut self) {
        // Without a runtime, all ends here.
        if let (Some(future), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            drop(runtime.spawn(future));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::AssertUnwindSafe;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn it_ends_whether_somebody_waits_for_it_or_not() {
        for goes in [false, true] {
            let (go, gone) = oneshot::channel();
            let (end, ended) = oneshot::channel();
            let mut lasting = Lasting::of(async move {
                gone.await.unwrap();
                end.send(()).unwrap();
            });
            assert!((&mut lasting).now_or_never().is_none(), "it waits");
            let waits = (!goes).then_some(lasting);
            go.send(()).unwrap();
            if let Some(lasting) = waits {
                lasting.await;
            }
            ended.await.unwrap();
        }
    }

    #[tokio::test]
    async fn what_panics_is_not_run_again() {
        let runs = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&runs);
        let lasting = Lasting::of(async move {
            counted.fetch_add(1, Ordering::Relaxed);
            panic!("on purpose");
        });
        assert!(AssertUnwindSafe(lasting).catch_unwind().await.is_err());
        tokio::task::yield_now().await;
        // Nobody holds it any more.
        assert_eq!((runs.load(Ordering::Relaxed), Arc::strong_count(&runs)), (1, 1));
    }
}
