//! The threads a listener runs on.

use std::io;
use std::thread::available_parallelism;

use tokio::runtime::{Builder, Runtime};

/// Threads at most: a listener shares the machine with what it serves.
const THREADS_MAX: usize = 4;

/// A runtime of a listener's own; what runs on it ends when this is dropped.
pub(crate) struct Engine(Option<Runtime>);

impl Engine {
    pub(crate) fn start() -> io::Result<Self> {
        let threads = available_parallelism().map_or(2, usize::from).min(THREADS_MAX);
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_name("listener").enable_all();
        Ok(Self(Some(builder.build()?)))
    }

    /// Does something there: what it spawns runs there, and its sockets and timers are there.
    pub(crate) fn within<T>(&self, begin: impl FnOnce() -> T) -> T {
        let _there = self.0.as_ref().expect("it is there until it is dropped").enter();
        begin()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Not waited for: this is dropped inside another runtime, where nothing may block.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
