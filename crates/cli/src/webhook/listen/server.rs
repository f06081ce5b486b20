//! The sockets of a listener: opening them, accepting, and the end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::connection;
use super::intake::Intake;
use super::waiting::Waiting;
use crate::webhook::accept;

/// Connections that may be open at once: no more files than a process may usually have. Where there are so
/// many, the one gives way that has waited longest for its request; where none waits, more are not accepted.
pub(crate) const CONNECTIONS_MAX: u32 = 768;
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// How long one that gives way has for it.
const GIVES_WAY: Duration = Duration::from_millis(50);
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
    /// Those that see to it that nobody is waited for longer than it may take.
    _watches: JoinSet<()>,
}

impl Server {
    /// Begins to accept. Within a runtime.
    pub(crate) fn start(sockets: Sockets, intake: Intake) -> Self {
        let phase = watch::Sender::new(Phase::Listening);
        let most = intake.rules().limits.connections;
        let connections = Arc::new(Semaphore::new(most as usize));
        let heads = Arc::new(Waiting::default());
        let read = intake.rules().limits.read;
        let mut watches = JoinSet::new();
        for waiting in [&heads, intake.bodies()] {
            watches.spawn(Arc::clone(waiting).watch(read));
        }
        for listener in sockets.listeners {
            let room = Room { connections: Arc::clone(&connections), heads: Arc::clone(&heads) };
            tokio::spawn(accept(listener, intake.clone(), room, phase.subscribe()));
        }
        Self { phase, connections, intake, _watches: watches }
    }

    /// Takes nothing new, and waits until everything under way is answered.
    pub(crate) async fn drain(&self) {
        self.phase.send_replace(Phase::Draining);
        // Fails only for a closed semaphore, and nobody closes it.
        let _ = self.connections.acquire_many(self.intake.rules().limits.connections).await;
        self.intake.idle().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.phase.send_replace(Phase::Ended);
    }
}

/// Room for connections.
struct Room {
    connections: Arc<Semaphore>,
    /// Those that wait for their request.
    heads: Arc<Waiting>,
}

impl Room {
    /// Room for one more; where there is none, one that waits gives way.
    async fn for_one(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            if let Ok(room) = Arc::clone(&self.connections).try_acquire_owned() {
                return Some(room);
            }
            self.heads.make_way(Duration::ZERO);
            let room = timeout(GIVES_WAY, Arc::clone(&self.connections).acquire_owned()).await;
            if let Ok(room) = room {
                // Fails only for a closed semaphore, and nobody closes it.
                return room.ok();
            }
        }
    }
}

/// Accepts until the phase changes.
async fn accept(
    listener: TcpListener,
    intake: Intake,
    room: Room,
    mut phase: watch::Receiver<Phase>,
) {
    loop {
        let accepted = async {
            let (stream, peer) = accept::accept(&listener).await;
            (stream, peer, room.for_one().await)
        };
        let (stream, peer, place) = tokio::select! {
            biased;
            _ = phase.changed() => return,
            accepted = accepted => accepted,
        };
        let (intake, heads, phase) = (intake.clone(), Arc::clone(&room.heads), phase.clone());
        tokio::spawn(async move {
            connection::serve(stream, peer, intake, heads, phase).await;
            drop(place);
        });
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::RetrySchedule;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;
    use crate::webhook::history::History;
    use crate::webhook::listen::samples;
    use crate::webhook::store::{Caps, Store};

    /// Far longer than a connection takes to end, however busy the machine is.
    const PATIENCE: Duration = Duration::from_secs(60);
    const WHOLE: &[u8] = b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n";

    async fn answered(stream: &mut TcpStream) -> bool {
        let mut answer = String::new();
        // One that was closed under what it sent fails.
        let ended = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
        assert!(ended.is_ok(), "it is still open");
        answer.starts_with("HTTP/1.1 200")
    }

    #[tokio::test]
    async fn half_a_request_gives_way_to_a_whole_one_and_the_longest_waits_first() {
        let mut rules = samples::rules();
        (rules.limits.connections, rules.limits.read) = (4, Duration::from_secs(3_600));
        let store = Store::in_memory(Caps::default()).unwrap();
        let history = History::new(1, RetrySchedule::default());
        let (intake, _told) = Intake::new(rules, history, store);
        let sockets = open(Some(Ipv4Addr::LOCALHOST.into()), 0).unwrap();
        let address = sockets.address();
        let server = Server::start(sockets, intake);
        let mut halves = Vec::new();
        for at in 0..4 {
            let mut half = TcpStream::connect(address).await.unwrap();
            half.write_all(&WHOLE[..at]).await.unwrap();
            halves.push(half);
        }
        for _ in 0..2 {
            let mut whole = TcpStream::connect(address).await.unwrap();
            whole.write_all(WHOLE).await.unwrap();
            assert!(answered(&mut whole).await);
        }
        assert!(!answered(&mut halves[0]).await, "it is closed for the first");
        let last = halves.last_mut().unwrap();
        last.write_all(&WHOLE[3..]).await.unwrap();
        assert!(answered(last).await, "whoever waits less is waited for");
        drop(server);
    }
}
