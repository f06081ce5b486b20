//! Accepting connections, whatever goes wrong with some of them.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};

/// Pause after the system had nothing to accept with. Too many open files stay so for a while, and who
/// handles what came needs the processor meanwhile.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);

/// The next connection. A failed accept never ends it; when this is not waited for to its end, nothing was
/// accepted.
pub(crate) async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                // What is answered is written whole: waiting to fill a packet only delays it.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
                return (stream, peer);
            }
            Err(error) => {
                if let Some(pause) = pause_after(&error) {
                    tracing::warn!(%error, "cannot accept connections");
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }
}

/// How long nothing is accepted after this. A connection that was broken off by its peer is over at once.
fn pause_after(error: &io::Error) -> Option<Duration> {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    let is_of_one_peer = matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | ConnectionRefused | Interrupted
    );
    (!is_of_one_peer).then_some(EXHAUSTED_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_does_not_pass_at_once_is_waited_for() {
        let gone = io::Error::from(io::ErrorKind::ConnectionAborted);
        assert_eq!(pause_after(&gone), None);
        // What too many open files are told as has no kind of its own.
        let exhausted = io::Error::other("too many open files");
        assert_eq!(pause_after(&exhausted), Some(EXHAUSTED_PAUSE));
    }
}
