//! The async runtime of a blocking client.

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::{Error, ErrorKind};
use crate::operation::{BUILD, Operation};

/// A tokio runtime with one worker thread, shared by the clones of a client.
#[derive(Debug)]
pub(super) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub(super) fn start() -> Result<Self, Error> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("formsvc-client")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| {
            let what = "the thread of the blocking client cannot be started";
            Error::parts(ErrorKind::Config, BUILD, what).with_source(error)
        })?;
        Ok(Self(Some(runtime)))
    }

    /// Runs a call on this thread until it completes. Fails inside an async runtime, which the call
    /// would block.
    pub(super) fn block_on<T>(
        &self,
        operation: Operation,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        if Handle::try_current().is_ok() {
            let what = "a blocking client cannot be used inside an async runtime; use the async \
                        `formsvc_client::Client`, or another thread";
            return Err(Error::config(operation, what));
        }
        self.0.as_ref().expect("the runtime is taken by drop only").block_on(call)
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // The drop of a tokio runtime waits for its threads, which panics inside another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
