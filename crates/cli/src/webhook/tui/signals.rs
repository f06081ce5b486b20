//! Ctrl-Z and `fg`: the signals that stop the process and have it go on.

use std::io;

#[cfg(unix)]
use rustix::process::{Signal, getpgrp, getpid, getsid, kill_current_process_group, kill_process};
#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

/// What a signal says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there are no such signals"))]
pub(super) enum Signaled {
    /// Somebody wants it to stop.
    Stop,
    /// It goes on after it was stopped.
    GoOn,
}

/// Listens for the signals, which stop the process no longer by themselves once this exists.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct Signals {
    stop: tokio::signal::unix::Signal,
    go_on: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        let listen = |which: Signal| signal(SignalKind::from_raw(which.as_raw()));
        Ok(Self { stop: listen(Signal::TSTP)?, go_on: listen(Signal::CONT)? })
    }

    /// Waits for one of them.
    pub(super) async fn next(&mut self) -> Signaled {
        tokio::select! {
            _ = self.stop.recv() => Signaled::Stop,
            _ = self.go_on.recv() => Signaled::GoOn,
        }
    }

    /// Whether there is a shell that would notice: without one nothing would have it go on.
    pub(super) fn has_shell() -> bool {
        getsid(None).is_ok_and(|session| session != getpgrp())
    }

    /// Stops the process, with all that the shell started together with it; returns when it goes on.
    pub(super) async fn stop(&mut self, all: bool) -> io::Result<()> {
        if all {
            kill_current_process_group(Signal::STOP)
        } else {
            kill_process(getpid(), Signal::STOP)
        }?;
        self.go_on.recv().await;
        Ok(())
    }
}

/// There are no such signals.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "the same signature as where it can fail")]
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) async fn next(&mut self) -> Signaled {
        std::future::pending().await
    }

    pub(super) fn has_shell() -> bool {
        false
    }

    #[expect(clippy::unused_async, reason = "the same signature as where it can wait")]
    pub(super) async fn stop(&mut self, _: bool) -> io::Result<()> {
        Ok(())
    }
}
