//! The thread that does the work of a blocking client.

use std::io;
use std::sync::mpsc::sync_channel;
use std::thread::{self, ThreadId};

use tokio::runtime::Builder;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::error::{Error, ErrorKind};
use crate::operation::Operation;
use crate::transport::BoxFuture;

/// A runtime on its own thread. Both end when this is dropped, which waits for nothing, so that it
/// may happen anywhere.
#[derive(Debug)]
pub(super) struct Runtime {
    jobs: UnboundedSender<BoxFuture<'static, ()>>,
    thread: ThreadId,
}

impl Runtime {
    pub(super) fn start() -> io::Result<Self> {
        let (jobs, mut inbox) = unbounded_channel::<BoxFuture<'static, ()>>();
        let (ready, started) = sync_channel(1);
        // The runtime is made on its thread and never leaves it: dropping one inside another panics.
        let handle = thread::Builder::new().name("formsvc-client".to_owned()).spawn(move || {
            let runtime = match Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            // Whoever waited for this may be gone; then there will be no jobs either.
            drop(ready.send(Ok(())));
            runtime.block_on(async {
                while let Some(job) = inbox.recv().await {
                    tokio::spawn(job);
                }
            });
        })?;
        started.recv().unwrap_or_else(|_| Err(io::Error::other("its thread ended")))?;
        Ok(Self { jobs, thread: handle.thread().id() })
    }

    /// Fails when this is the runtime's own thread, which would wait for itself.
    pub(super) fn check(&self, operation: Operation) -> Result<(), Error> {
        if thread::current().id() == self.thread {
            let what = "a function given to a blocking client cannot make calls of that client";
            return Err(Error::parts(ErrorKind::Config, operation, what).into());
        }
        Ok(())
    }

    /// Waits until the work is done. Panics when the work does.
    pub(super) fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (reply, answer) = sync_channel(1);
        let job = Box::pin(async move {
            // The one who waits is there until the reply is.
            drop(reply.send(work.await));
        });
        self.jobs.send(job).expect("the thread takes jobs as long as this is there");
        answer.recv().unwrap_or_else(|_| panic!("a function given to the client panicked"))
    }
}
