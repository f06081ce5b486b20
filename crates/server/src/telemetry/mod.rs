//! Logs: one event a line on stderr, as text or as JSON.
//!
//! Whatever comes from outside is escaped, so that a line is always one line and never moves a
//! terminal's cursor. Spans are not printed; the request id stands in each line of a request.

mod layer;
mod line;
#[cfg(feature = "otel")]
pub(crate) mod otel;
#[cfg(feature = "otel")]
mod otel_client;
mod output;

use std::panic::PanicHookInfo;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::store::Clock;
use output::Output;

pub use layer::{LineSink, LogLayer};

/// Shape of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// `time LEVEL message key=value …`
    Text,
    /// One JSON object a line.
    Json,
}

/// Writes what is still buffered when it is dropped.
#[derive(Debug)]
#[must_use = "lines that are still buffered are written when this is dropped"]
pub struct LogGuard(Arc<Output>);

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.0.flush();
    }
}

/// Sends the events of this process to stderr, panics too. The second call of a process, or one
/// after another subscriber was installed, changes nothing.
///
/// Warnings and errors are written before the call that logs them returns. Other lines are gathered
/// for some milliseconds and written by a thread of their own; a process that is killed loses those,
/// and when nobody reads stderr they are dropped and counted rather than waited for.
pub fn init(level: LevelFilter, format: LogFormat, clock: Clock) -> LogGuard {
    let output = Output::start(std::io::stderr());
    let layer = LogLayer::new(format, clock, Arc::clone(&output)).with_filter(level);
    if tracing_subscriber::registry().with(layer).try_init().is_ok() {
        std::panic::set_hook(Box::new(log_panic));
    }
    LogGuard(output)
}

/// A panic as a log line. Its message is told only when it was written in the source: one that was
/// formatted may hold what users sent.
fn log_panic(info: &PanicHookInfo<'_>) {
    let said = info.payload().downcast_ref::<&'static str>();
    let message = said.copied().unwrap_or("its message is withheld");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    tracing::error!(message_of_panic = message, place, "panic");
}
