//! SIGINT, SIGTERM and SIGHUP: the command is dropped where it waits, which removes what it has half done.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use crate::exit::Exit;

/// Signals so close to each other are one: who ends a group of processes, as timeout(1) does, signals the one
/// it started and then all of them.
const ONE_SIGNAL: Duration = Duration::from_millis(50);

/// Listens for signals, which end the process no longer once this exists.
#[cfg(unix)]
pub(crate) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// None where whoever started the command wants it to outlive its terminal.
    hang_up: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: (!outlives_its_terminal())
                .then(|| signal(SignalKind::hangup()))
                .transpose()?,
        })
    }

    /// Waits for a signal and says how the run ends.
    pub(crate) async fn next(&mut self) -> Exit {
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

/// Whether SIGHUP is ignored, as nohup(1) arranges it. Where that cannot be told it is left as it is.
#[cfg(unix)]
fn outlives_its_terminal() -> bool {
    const SIGHUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_none_or(|mask| mask & SIGHUP != 0)
}

/// Listens for Ctrl-C.
#[cfg(not(unix))]
pub(crate) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as where it can fail")]
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    /// Waits for Ctrl-C and says how the run ends; for ever where it cannot be waited for.
    pub(crate) async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            Err(_) => std::future::pending().await,
        }
    }
}

impl Signals {
    /// Waits for another signal than the one that was just heard of.
    pub(crate) async fn another(&mut self) {
        let first = Instant::now();
        loop {
            self.next().await;
            if first.elapsed() >= ONE_SIGNAL {
                return;
            }
        }
    }
}
