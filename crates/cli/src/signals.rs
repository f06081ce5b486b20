//! SIGINT and SIGTERM: the command is dropped where it waits, which removes what it has half done.

use std::io;

use crate::exit::Exit;

/// Waits for a signal and says how the run ends.
#[cfg(unix)]
pub(crate) async fn received() -> io::Result<Exit> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(tokio::select! {
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
    })
}

/// Waits for Ctrl-C and says how the run ends.
#[cfg(not(unix))]
pub(crate) async fn received() -> io::Result<Exit> {
    tokio::signal::ctrl_c().await.map(|()| Exit::Interrupted)
}
