//! The signals that end a server.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

/// Signals so close to each other are one: who ends a group of processes, as timeout(1) does, signals the one
/// it started and then all of them.
const ONE_SIGNAL: Duration = Duration::from_millis(50);

/// A request from outside to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopSignal {
    /// SIGINT, or Ctrl-C.
    Interrupt,
    /// SIGTERM.
    Terminate,
}

impl StopSignal {
    /// The exit status of a process that ends because of it: 130 or 143.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }
}

/// Listens for stop signals. From its creation on, they no longer end the process by themselves.
///
/// The first asks for a shutdown; a caller that shuts down goes on listening, and at [`another`](Self::another)
/// exits at once with its [`exit_code`](StopSignal::exit_code).
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    /// Begins to listen. Must be called within a Tokio runtime.
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Self { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for the next signal. Safe to drop and call again.
    pub async fn next(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::Terminate,
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    /// Begins to listen. Must be called within a Tokio runtime.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// Waits for the next signal. Safe to drop and call again.
    pub async fn next(&mut self) -> StopSignal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        StopSignal::Interrupt
    }
}

impl Signals {
    /// Waits for another signal than the one that was just heard of: what comes within 50 ms is the same.
    /// Not safe to drop and call again.
    pub async fn another(&mut self) -> StopSignal {
        let first = Instant::now();
        loop {
            let signal = self.next().await;
            if first.elapsed() >= ONE_SIGNAL {
                return signal;
            }
        }
    }
}
