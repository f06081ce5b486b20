//! What every test of this binary logs, at the finest level.

use std::io;
use std::sync::{Mutex, OnceLock};

use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

static LOG: OnceLock<Log> = OnceLock::new();

/// The log; installed by whoever asks first. One for the process, because the first subscriber
/// decides for every thread what is worth recording.
pub(crate) fn log() -> &'static Log {
    LOG.get_or_init(|| {
        let text = tracing_subscriber::fmt::layer()
            .with_span_events(FmtSpan::FULL)
            .with_writer(|| LOG.wait());
        let all = tracing_subscriber::registry().with(LevelFilter::TRACE).with(text);
        all.with(super::spans::Recorder).init();
        Log::default()
    })
}

#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<u8>>);

impl Log {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl io::Write for &Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
