//! Receives SIGINT, SIGTERM and SIGHUP.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::exit::Exit;

/// Signals within this time count as one: timeout(1) signals the process and then its group.
const ONE_SIGNAL: Duration = Duration::from_millis(200);

/// A receiver of signals. While it exists, a signal does not end the process by itself.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// `None` if the process ignores SIGHUP.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        // With a handler for SIGXFSZ, a write beyond the limit of `ulimit -f` fails instead of ending the process, and
        // the command reports the error.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: (!ignores_hang_up()).then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// Waits for a signal and returns its exit code.
    pub(super) async fn next(&mut self) -> Exit {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
            _ = hang_up => Exit::HungUp,
        }
    }
}

/// Returns true if the process was started with SIGHUP ignored, for example by nohup(1), or if this is unknown.
#[cfg(unix)]
fn ignores_hang_up() -> bool {
    const SIGHUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & SIGHUP != 0)
}

/// Receives Ctrl-C.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on Unix")]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C and returns its exit code. Never returns if Ctrl-C cannot be received.
    pub(super) async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Signals {
    /// Waits for a second signal. Call it just after the first signal was received.
    pub(super) async fn another(&mut self) {
        let first = Instant::now();
        loop {
            self.next().await;
            if first.elapsed() >= ONE_SIGNAL {
                return;
            }
        }
    }
}
