//! SIGINT and SIGTERM: the command is dropped where it waits, which removes what it has half done.

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
}

#[cfg(unix)]
impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal and says how the run ends.
    pub(crate) async fn next(&mut self) -> Exit {
        tokio::select! {
            _ = self.interrupt.recv() => Exit::Interrupted,
            _ = self.terminate.recv() => Exit::Terminated,
        }
    }
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
