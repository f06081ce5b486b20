//! Opens the sockets of a listener, accepts connections, and shuts the listener down.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{HeaderMap, Method};
#[cfg(unix)]
use rustix::io::Errno;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{broadcast, mpsc};
use tokio::time::timeout;

use super::connection;
use super::intake::{CompleteRequest, Intake, ListenLimits, ListenRules, ListenerEvent};
use super::response::Refusal;
use crate::delivery::{Delivery, Source};
use crate::store::CaptureStore;
use crate::warning::{Warning, WarningCode, with_causes};

/// Length of the operating system's queue of connections that the listener has not accepted yet.
const BACKLOG: u32 = 1024;
/// Pause after an error of `accept` that concerns all connections, for example "too many open files".
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time that incomplete requests have to complete when the listener shuts down.
const DRAIN_TIME: Duration = Duration::from_millis(500);
/// Number of ports that [`Sockets::open`] tries if the port is 0.
const PORTS_TRIED: u16 = 20;

/// Sockets that accept connections at one port.
#[derive(Debug)]
pub struct Sockets {
    listeners: Vec<TcpListener>,
    address: SocketAddr,
}

/// A running listener. Dropping it closes all connections at once.
pub struct Listener {
    intake: Arc<Intake>,
    address: SocketAddr,
}

/// Access to a listener for the inspector and for deliveries that do not arrive over HTTP.
#[derive(Clone)]
pub struct ListenerHandle(Arc<Intake>);

impl Sockets {
    /// Opens a port. Port 0 chooses a free port. Without `bind`, opens the port at 127.0.0.1 and, if the machine has
    /// IPv6, at ::1, because `localhost` may mean either address.
    ///
    /// # Errors
    /// [`io::ErrorKind::AddrInUse`] if another process has the port.
    pub fn open(bind: Option<IpAddr>, port: u16) -> io::Result<Self> {
        let mut result = Self::open_once(bind, port);
        for _ in 1..PORTS_TRIED {
            match &result {
                // Another process uses the chosen port at ::1. Choose another port.
                Err(error) if port == 0 && error.kind() == io::ErrorKind::AddrInUse => {
                    result = Self::open_once(bind, port);
                }
                _ => break,
            }
        }
        result
    }

    fn open_once(bind: Option<IpAddr>, port: u16) -> io::Result<Self> {
        let first = listen(SocketAddr::new(bind.unwrap_or(Ipv4Addr::LOCALHOST.into()), port))?;
        let address = first.local_addr()?;
        let mut listeners = vec![first];
        if bind.is_none() {
            let other = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), address.port());
            match listen(other) {
                Ok(other) => listeners.push(other),
                Err(error) if is_without_ipv6(&error) => {
                    tracing::debug!(%error, %other, "cannot listen");
                }
                // Another process would receive the deliveries that are sent to this address.
                Err(error) => return Err(error),
            }
        }
        Ok(Self { listeners, address })
    }

    /// Returns the first address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // On Windows, this option would allow two processes to listen on one port.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn is_without_ipv6(error: &io::Error) -> bool {
    #[cfg(unix)]
    let unsupported = Errno::AFNOSUPPORT.raw_os_error();
    // The error WSAEAFNOSUPPORT of Windows.
    #[cfg(not(unix))]
    let unsupported = 10_047;
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(unsupported)
}

impl Listener {
    /// Starts to accept connections. Must be called within a Tokio runtime. Read the events until
    /// [`shutdown`](Self::shutdown) returns.
    pub fn start(
        sockets: Sockets,
        rules: ListenRules,
        limits: ListenLimits,
        store: CaptureStore,
    ) -> (Self, mpsc::Receiver<ListenerEvent>) {
        let (intake, events) = Intake::new(rules, limits, store);
        let (intake, address) = (Arc::new(intake), sockets.address);
        intake.tasks.spawn(report_store_warnings(Arc::clone(&intake)));
        for listener in sockets.listeners {
            intake.tasks.spawn(run(listener, Arc::clone(&intake)));
        }
        (Self { intake, address }, events)
    }

    /// Returns the first address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn handle(&self) -> ListenerHandle {
        ListenerHandle(Arc::clone(&self.intake))
    }

    /// Stops accepting connections, waits at most `grace` until the deliveries in flight are answered, and closes all
    /// connections. The caller must read the events while this method waits.
    pub async fn shutdown(self, grace: Duration) {
        let intake = &self.intake;
        intake.stop.cancel();
        intake.tasks.close();
        let drain = async {
            if timeout(DRAIN_TIME, intake.tasks.wait()).await.is_err() {
                while intake.connections.waiting.close_first() {}
                intake.tasks.wait().await;
            }
            // The outcomes of the last deliveries may still be queued.
            intake.store.flush().await;
            while let Some(Some(warning)) = intake.store.warning().now_or_never() {
                intake.warn(warning).await;
            }
        };
        if timeout(grace, drain).await.is_err() {
            tracing::debug!("deliveries in flight are not answered");
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.intake.stop.cancel();
        self.intake.abort.cancel();
    }
}

impl ListenerHandle {
    /// Handles a delivery that was built from a submission of the API. Returns the delivery with its response.
    ///
    /// # Errors
    /// [`Refusal::Busy`] or [`Refusal::TooManyInvalid`] if too many deliveries are in flight, [`Refusal::Stopping`] if
    /// the listener shuts down or has reached [`ListenLimits::deliveries`], [`Refusal::Internal`] if handling the
    /// delivery panicked.
    pub async fn deliver(
        &self,
        method: Method,
        request_target: String,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Arc<Delivery>, Refusal> {
        if self.0.stop.is_cancelled() {
            return Err(Refusal::Stopping);
        }
        let source = Source::Poll;
        let request =
            CompleteRequest { source, method, request_target, headers, body, memory: None };
        Ok(self.0.accept(request).await?.1)
    }

    /// Returns the channel of the listener's events, for example for the warnings of a poll.
    pub fn events(&self) -> mpsc::Sender<ListenerEvent> {
        self.0.events.clone()
    }

    /// Returns the channel that publishes each delivery when it is stored and again when it is answered.
    pub fn deliveries(&self) -> broadcast::Sender<Arc<Delivery>> {
        self.0.deliveries.clone()
    }
}

/// Sends the warnings of the store as events until the listener stops.
async fn report_store_warnings(intake: Arc<Intake>) {
    let next = async || intake.store.warning().await;
    while let Some(Some(warning)) = intake.stop.run_until_cancelled(next()).await {
        intake.warn(warning).await;
    }
}

/// Accepts and serves the connections of one socket.
async fn run(listener: TcpListener, intake: Arc<Intake>) {
    let router = connection::router();
    let next = async || {
        let (stream, peer) = accept(&listener, &intake).await;
        (stream, peer, intake.connections.acquire(1).await)
    };
    while let Some((stream, peer, permit)) = intake.stop.run_until_cancelled(next()).await {
        let serving = connection::serve(stream, peer, Arc::clone(&intake), router.clone());
        intake.tasks.spawn(async move {
            serving.await;
            drop(permit);
        });
    }
}

/// Accepts the next connection.
async fn accept(listener: &TcpListener, intake: &Intake) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                intake.accepting.record_success();
                // Responses are written at once, so Nagle's algorithm would only delay them.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
                return (stream, peer);
            }
            Err(error) if concerns_one_connection(&error) => {}
            Err(error) => {
                handle_accept_error(&error, intake);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Warns of the first error of an outage, or of a later one if the channel of events is full, because accepting must not
/// wait for the reader of the events. If no file descriptor is free, closes the connection that has waited for its peer
/// for the longest time.
fn handle_accept_error(error: &io::Error, intake: &Intake) {
    #[cfg(unix)]
    let codes = [Errno::MFILE, Errno::NFILE].map(Errno::raw_os_error);
    // The error WSAEMFILE of Windows.
    #[cfg(not(unix))]
    let codes = [10_024];
    if error.raw_os_error().is_some_and(|code| codes.contains(&code)) {
        intake.connections.waiting.close_first();
    }
    if let Ok(permit) = intake.events.try_reserve()
        && intake.accepting.record_failure()
    {
        let message = format!("the listener cannot accept connections: {}", with_causes(error));
        let warning = Warning { code: WarningCode::NotAccepting, message };
        permit.send(ListenerEvent::Warning(warning));
    }
}

/// Returns true if the error concerns only one connection, which its peer has already closed.
fn concerns_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | ConnectionRefused | Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreLimits;

    #[cfg(unix)]
    #[test]
    fn lack_of_descriptors_closes_a_connection_and_warns() {
        let limits = StoreLimits { bytes: 1 << 20, age: Duration::MAX };
        let store = CaptureStore::in_memory(limits).unwrap();
        let (intake, mut events) =
            Intake::new(ListenRules::default(), ListenLimits::default(), store);
        let tokens = [(); 3].map(|()| tokio_util::sync::CancellationToken::new());
        for token in &tokens {
            intake.connections.waiting.push(token.clone());
        }
        for error in [Errno::MFILE, Errno::NOBUFS, Errno::NFILE] {
            handle_accept_error(&error.into(), &intake);
        }
        let Ok(ListenerEvent::Warning(warning)) = events.try_recv() else { panic!() };
        let cause = "the listener cannot accept connections: Too many open files (os error 24)";
        assert_eq!((warning.code, &*warning.message), (WarningCode::NotAccepting, cause));
        assert!(events.try_recv().is_err(), "one warning for each outage");
        assert_eq!([true, true, false], tokens.map(|token| token.is_cancelled()));
    }

    #[cfg(unix)]
    #[test]
    fn accept_error_does_not_wait_for_event_channel() {
        let store = CaptureStore::in_memory(StoreLimits { bytes: 1 << 20, age: Duration::MAX });
        let (intake, mut events) =
            Intake::new(ListenRules::default(), ListenLimits::default(), store.unwrap());
        let other = Warning { code: WarningCode::Loop, message: String::new() };
        while intake.events.try_send(ListenerEvent::Warning(other.clone())).is_ok() {}
        handle_accept_error(&Errno::NOBUFS.into(), &intake);
        while let Ok(event) = events.try_recv() {
            assert!(matches!(event, ListenerEvent::Warning(warning) if warning == other));
        }
        // The warning is not lost: the next error sends it.
        handle_accept_error(&Errno::NOBUFS.into(), &intake);
        let Ok(ListenerEvent::Warning(warning)) = events.try_recv() else { panic!() };
        assert_eq!(warning.code, WarningCode::NotAccepting);
    }

    #[test]
    fn only_errors_of_all_connections_pause_accepting() {
        assert!(concerns_one_connection(&io::ErrorKind::ConnectionAborted.into()));
        // The error "too many open files" has no [`io::ErrorKind`].
        assert!(!concerns_one_connection(&io::Error::other("too many open files")));
    }
}
