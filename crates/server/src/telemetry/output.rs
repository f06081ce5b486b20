//! Where log lines go: gathered, and written by a thread of their own, so that a request does not
//! pay for a system call and never waits for whoever reads the log.

use std::io::Write;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::layer::LineSink;

/// How long lines are gathered.
const GATHER: Duration = Duration::from_millis(10);
/// Bytes gathered at most; lines beyond are dropped and counted.
const PENDING_MAX: usize = 1 << 20;

/// Lines on their way to a writer.
pub(super) struct Output {
    pending: Mutex<Pending>,
    arrived: Condvar,
    /// Taken before `pending` by whoever writes, so that lines stay in order.
    writer: Mutex<Box<dyn Write + Send>>,
}

#[derive(Default)]
struct Pending {
    bytes: Vec<u8>,
    dropped: u64,
}

impl Output {
    /// Starts the thread that writes. Without a thread, every line is written at once.
    pub(super) fn start(writer: impl Write + Send + 'static) -> Arc<Self> {
        let output = Arc::new(Self {
            pending: Mutex::default(),
            arrived: Condvar::new(),
            writer: Mutex::new(Box::new(writer)),
        });
        let weak = Arc::downgrade(&output);
        let write = move || {
            while let Some(output) = weak.upgrade() {
                output.wait();
                thread::sleep(GATHER);
                output.flush();
            }
        };
        // Without the thread, lines wait for the next warning or the end.
        let _ = thread::Builder::new().name("log-writer".to_owned()).spawn(write);
        output
    }

    fn wait(&self) {
        let mut pending = lock(&self.pending);
        while pending.bytes.is_empty() && pending.dropped == 0 {
            pending = self.arrived.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes what is gathered.
    pub(super) fn flush(&self) {
        let mut writer = lock(&self.writer);
        let Pending { bytes, dropped } = mem::take(&mut *lock(&self.pending));
        // There is nowhere left to report that the log cannot be written.
        let _ = writer.write_all(&bytes);
        if dropped > 0 {
            let _ = writeln!(writer, "{dropped} log lines were dropped: nobody reads fast enough");
        }
        let _ = writer.flush();
    }
}

impl LineSink for Arc<Output> {
    fn line(&self, level: tracing::Level, line: &str) {
        let mut pending = lock(&self.pending);
        let first = pending.bytes.is_empty();
        if pending.bytes.len() + line.len() > PENDING_MAX {
            pending.dropped += 1;
        } else {
            pending.bytes.extend_from_slice(line.as_bytes());
        }
        drop(pending);
        if level <= tracing::Level::WARN {
            self.flush();
        } else if first {
            self.arrived.notify_one();
        }
    }
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Output")
    }
}

/// Lines are whole whatever panicked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use tracing::Level;

    use super::*;

    /// Gives each write to the test; waits while nobody takes it.
    struct Slow(mpsc::SyncSender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(std::io::Error::other)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_arrive_in_order_and_without_being_asked_for() {
        let (send, receive) = mpsc::sync_channel(1000);
        let output = Output::start(Slow(send));
        for n in 0..100 {
            output.line(Level::INFO, &format!("{n}\n"));
        }
        let expected: String = (0..100).map(|n| n.to_string() + "\n").collect::<Vec<_>>().concat();
        let mut got = String::new();
        while got.len() < expected.len() {
            got.push_str(&String::from_utf8(receive.recv().unwrap()).unwrap());
        }
        assert_eq!(got, expected);
    }

    #[test]
    fn a_warning_takes_what_was_before_it_along() {
        let (send, receive) = mpsc::sync_channel(10);
        let output = Output::start(Slow(send));
        output.line(Level::INFO, "a\n");
        output.line(Level::WARN, "b\n");
        let got: Vec<_> = receive.try_iter().flatten().collect();
        assert_eq!(got, b"a\nb\n");
    }

    #[test]
    fn a_reader_that_is_stuck_costs_lines_and_not_time() {
        let (send, receive) = mpsc::sync_channel(0);
        let output = Output::start(Slow(send));
        let line = "x".repeat(1023) + "\n";
        for _ in 0..3000 {
            output.line(Level::INFO, &line);
        }
        let mut got = Vec::new();
        while !String::from_utf8_lossy(&got).contains("dropped") {
            got.extend(receive.recv().unwrap());
        }
        assert!(got.len() <= 2 * PENDING_MAX + 4096, "{}", got.len());
    }
}
