//! The log of the tests of this binary, at the finest level.

use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use tracing::Subscriber;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::util::SubscriberInitExt;

static LOG: OnceLock<Log> = OnceLock::new();

/// Returns the log of the process, and installs it at the first call.
pub(crate) fn log() -> &'static Log {
    LOG.get_or_init(|| {
        let log = Log::default();
        subscriber(&log).init();
        log
    })
}

/// Logs the events of this thread only, until the guard is dropped.
pub(crate) fn log_of_this_thread() -> (Log, tracing::subscriber::DefaultGuard) {
    let log = Log::default();
    let guard = subscriber(&log).set_default();
    (log, guard)
}

fn subscriber(log: &Log) -> impl Subscriber + Send + Sync + use<> {
    let log = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .with_writer(move || log.clone())
        .finish()
}

#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
