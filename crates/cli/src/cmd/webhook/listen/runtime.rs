//! The threads of a listener. The thread of the command may block while it writes to standard output, and the
//! listener must still respond to senders.

use std::io;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Largest number of threads. The listener shares the machine with the targets.
const MAX_THREADS: usize = 4;

/// A runtime. Its tasks end when it is dropped.
pub(super) struct ListenerRuntime(Option<Runtime>);

impl ListenerRuntime {
    pub(super) fn start() -> io::Result<Self> {
        let threads = available_parallelism().map_or(2, usize::from).min(MAX_THREADS);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("listener").enable_all();
        Ok(Self(Some(builder.build()?)))
    }

    /// Calls a function that creates sockets and tasks of this runtime.
    pub(super) fn within<T>(&self, call: impl FnOnce() -> T) -> T {
        let _guard = self.runtime().enter();
        call()
    }

    /// Starts a task.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.runtime().spawn(task)
    }

    fn runtime(&self) -> &Runtime {
        self.0.as_ref().expect("the runtime exists until it is dropped")
    }
}

impl Drop for ListenerRuntime {
    fn drop(&mut self) {
        // Dropping a runtime inside of another one must not block.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
