//! The sockets of a listener: opening them, accepting, and the end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::connection;
use super::intake::Intake;

/// Connections that may be open at once; more wait in the system's queue.
const CONNECTIONS_MAX: u32 = 768;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// Pause after the system had nothing to accept with.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(200);
/// Ports that are tried in search of a free one.
const PORTS_TRIED: u16 = 20;

/// What a listener is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Listening,
    /// Requests under way may finish.
    Draining,
    Ended,
}

/// Sockets that listen.
pub(crate) struct Sockets {
    listeners: Vec<TcpListener>,
    address: SocketAddr,
}

/// Opens the sockets. On this machine alone both loopbacks, where there are both: `localhost` may mean
/// either. Within a runtime.
pub(crate) fn open(bind: Option<IpAddr>, port: u16) -> io::Result<Sockets> {
    let first = listen(SocketAddr::new(bind.unwrap_or(Ipv4Addr::LOCALHOST.into()), port))?;
    let address = first.local_addr()?;
    let mut listeners = vec![first];
    if bind.is_none() {
        let other = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port());
        // There may be no such address, or somebody else may have the port there.
        match listen(other) {
            Ok(other) => listeners.push(other),
            Err(error) => tracing::debug!(%error, %other, "cannot listen"),
        }
    }
    Ok(Sockets { listeners, address })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // On Windows this would let two listen at one port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A port near this one that can be had.
pub(crate) fn free_port_near(bind: Option<IpAddr>, port: u16) -> Option<u16> {
    let bind = bind.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let ports = (1..=PORTS_TRIED).filter_map(|more| port.checked_add(more));
    ports.into_iter().find(|port| std::net::TcpListener::bind((bind, *port)).is_ok())
}

impl Sockets {
    /// The address, as told.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A listener that accepts. Dropping it ends it at once.
pub(crate) struct Server {
    phase: watch::Sender<Phase>,
    connections: Arc<Semaphore>,
    intake: Intake,
}

impl Server {
    /// Begins to accept. Within a runtime.
    pub(crate) fn start(sockets: Sockets, intake: Intake) -> Self {
        let phase = watch::Sender::new(Phase::Listening);
        let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX as usize));
        for listener in sockets.listeners {
            let (connections, phase) = (Arc::clone(&connections), phase.subscribe());
            tokio::spawn(accept(listener, intake.clone(), connections, phase));
        }
        Self { phase, connections, intake }
    }

    /// Takes nothing new, and waits until everything under way is answered.
    pub(crate) async fn drain(&self) {
        self.phase.send_replace(Phase::Draining);
        // Fails only for a closed semaphore, and nobody closes it.
        let _ = self.connections.acquire_many(CONNECTIONS_MAX).await;
        self.intake.idle().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Ended);
    }
}

/// Accepts until the phase changes. A failed accept never ends it.
async fn accept(
    listener: TcpListener,
    intake: Intake,
    connections: Arc<Semaphore>,
    mut phase: watch::Receiver<Phase>,
) {
    loop {
        let accepted = async {
            // Taken before accepting, so that those beyond the cap wait in the system's queue.
            let permit = Arc::clone(&connections).acquire_owned().await;
            (permit, listener.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            biased;
            _ = phase.changed() => return,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, peer)) => {
                without_delay(&stream);
                let (intake, phase) = (intake.clone(), phase.clone());
                tokio::spawn(async move {
                    connection::serve(stream, peer, intake, phase).await;
                    drop(permit);
                });
            }
            Err(error) if is_of_one_peer(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
}

/// Answers are written whole, so that waiting to fill a packet only delays them.
fn without_delay(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
}

/// Whether an accept failed because one peer went away meanwhile.
fn is_of_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | ConnectionRefused | Interrupted)
}
