//! Work on blocking threads, so that a runtime's own threads wait neither for a disk nor for a rendering.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;

/// Runs work on a blocking thread of the runtime. A panic continues in the caller. Work that has begun runs
/// to its end, also if the returned future is dropped.
pub(crate) async fn run_blocking<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> R {
    let ended = tokio::task::spawn_blocking(work).await;
    match ended.map_err(tokio::task::JoinError::try_into_panic) {
        Ok(result) => result,
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        // The runtime shuts down, and drops this future.
        Err(Err(_)) => std::future::pending().await,
    }
}

/// A value of which the methods wait for a disk: it is used and dropped on blocking threads only.
#[derive(Debug)]
pub(crate) struct Blocking<T: Send + 'static>(Option<Arc<Mutex<T>>>);

impl<T: Send + 'static> Blocking<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(Arc::new(Mutex::new(value))))
    }

    /// Returns another handle of the value.
    pub(crate) fn share(&self) -> Self {
        Self(self.0.clone())
    }

    /// Calls `work` with the value. If this future is dropped, the call ends before the next one begins, and
    /// before the value is dropped.
    pub(crate) async fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut T) -> R + Send + 'static,
    ) -> R {
        let value = self.0.clone().expect("only `into_inner` and `drop` take the value");
        run_blocking(move || {
            let result = work(&mut value.lock().unwrap_or_else(PoisonError::into_inner));
            // Before the result is returned, so that the caller can take the value.
            drop(value);
            result
        })
        .await
    }

    /// Locks the value. Waits for calls, so that only blocking threads may use this.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        let value = self.0.as_ref().expect("only `into_inner` and `drop` take the value");
        value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value, unless a call whose future was dropped still runs. No other handle may be left.
    pub(crate) fn into_inner(mut self) -> Option<T> {
        let value = Arc::into_inner(self.0.take()?)?;
        Some(value.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<T: Send + 'static> Drop for Blocking<T> {
    fn drop(&mut self) {
        let Some(value) = self.0.take().and_then(Arc::into_inner) else { return };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(move || drop(value));
        }
    }
}
