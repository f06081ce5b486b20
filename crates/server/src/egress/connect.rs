//! Connections to endpoints: to addresses that the policy lets through, and to no others.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tower::Service;

use super::attempt::{self, Phase};
use super::endpoint_url::is_localhost_name;
use super::policy::{Denied, EgressPolicy};
use super::resolve::Resolve;
use super::stream::Stream;
use super::tls::{self, Tls};

/// Addresses of one host that are tried.
const ADDRESSES_TRIED_MAX: usize = 8;
/// Longest wait for an address when another could be tried: time for one lost packet to be repeated.
const ADDRESS_SHARE_MAX: Duration = Duration::from_secs(2);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("the name could not be resolved")]
    Dns(#[source] io::Error),
    #[error(transparent)]
    Denied(#[from] Denied),
    #[error("cannot connect to {0}")]
    Tcp(SocketAddr, #[source] io::Error),
    #[error("no TLS with {0}")]
    Tls(SocketAddr, #[source] io::Error),
    #[error("{0} ended the connection before TLS was agreed on")]
    Lost(SocketAddr, #[source] io::Error),
    #[error("no connection in time (phase `{0}`)")]
    Late(Phase, Option<SocketAddr>),
}

/// Makes connections for the client. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connector(Arc<Shared>);

struct Shared {
    policy: EgressPolicy,
    resolver: Arc<dyn Resolve>,
    tls: Tls,
    timeout: Duration,
}

impl Connector {
    /// `timeout` bounds a connection that nobody waits for any more: the client lets it be finished
    /// when another became free first.
    pub(super) fn new(
        policy: EgressPolicy,
        resolver: Arc<dyn Resolve>,
        tls: Tls,
        timeout: Duration,
    ) -> Self {
        Self(Arc::new(Shared { policy, resolver, tls, timeout }))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { shared.connect(&to).await })
    }
}

impl Shared {
    async fn connect(&self, to: &Uri) -> Result<Stream, ConnectError> {
        let own = Instant::now() + self.timeout;
        let deadline = attempt::deadline().map_or(own, |deadline| deadline.min(own));
        let is_tls = to.scheme() == Some(&Scheme::HTTPS);
        let host = to.host().unwrap_or_default();
        let port = to.port_u16().unwrap_or(if is_tls { 443 } else { 80 });

        attempt::reached(Phase::Dns, None);
        let addresses = timeout_at(deadline, self.addresses(host))
            .await
            .map_err(|_| ConnectError::Late(Phase::Dns, None))?
            .map_err(ConnectError::Dns)?;
        let vetted = vetted(&self.policy, host, port, addresses)?;
        let stream = tcp(&vetted, port, deadline).await?;
        let peer = self.vetted_peer(host, port, &stream)?;
        if !is_tls {
            attempt::reached(Phase::Response, Some(peer));
            return Ok(Stream::plain(stream, peer));
        }
        attempt::reached(Phase::Tls, Some(peer));
        let stream = timeout_at(deadline, self.encrypt(host, stream, peer))
            .await
            .map_err(|_| ConnectError::Late(Phase::Tls, Some(peer)))??;
        attempt::reached(Phase::Response, Some(peer));
        Ok(stream)
    }

    /// The addresses of a host. Localhost names are not asked for: they mean this machine (RFC 6761
    /// §6.3), and a resolver that says otherwise would be wrong.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Some(address) = literal(host) {
            return Ok(vec![address]);
        }
        if is_localhost_name(host) {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        self.resolver.resolve(host).await
    }

    /// Whom the connection is to, as the system sees it.
    fn vetted_peer(
        &self,
        host: &str,
        port: u16,
        stream: &TcpStream,
    ) -> Result<SocketAddr, ConnectError> {
        let peer = stream.peer_addr();
        let unspecified = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let peer = peer.map_err(|error| ConnectError::Tcp(unspecified, error))?;
        self.policy.check(host, port, peer.ip())?;
        Ok(peer)
    }

    async fn encrypt(
        &self,
        host: &str,
        stream: TcpStream,
        peer: SocketAddr,
    ) -> Result<Stream, ConnectError> {
        let connector =
            self.tls.connector().await.map_err(|error| ConnectError::Tls(peer, error))?;
        let name = server_name(host).map_err(|error| ConnectError::Tls(peer, error))?;
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Stream::tls(stream, peer)),
            Err(error) if tls::is_of_tls(&error) => Err(ConnectError::Tls(peer, error)),
            Err(error) => Err(ConnectError::Lost(peer, error)),
        }
    }
}

/// A host that is an address.
fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    match literal(host) {
        Some(address) => Ok(ServerName::from(address)),
        None => ServerName::try_from(host.to_owned()).map_err(io::Error::other),
    }
}

/// The addresses to try, when all that the name resolves to are let through.
///
/// One that is not denies all: a name that mixes them is either misconfigured, and would fail now and
/// then, or it tries what happens.
fn vetted(
    policy: &EgressPolicy,
    host: &str,
    port: u16,
    addresses: Vec<IpAddr>,
) -> Result<Vec<IpAddr>, ConnectError> {
    let mut vetted: Vec<IpAddr> = Vec::with_capacity(addresses.len().min(ADDRESSES_TRIED_MAX));
    for address in addresses {
        let address = address.to_canonical();
        policy.check(host, port, address)?;
        if vetted.len() < ADDRESSES_TRIED_MAX && !vetted.contains(&address) {
            vetted.push(address);
        }
    }
    if vetted.is_empty() {
        return Err(ConnectError::Dns(io::Error::other("the name has no address")));
    }
    Ok(vetted)
}

/// The first connection that is made, trying addresses in order.
async fn tcp(
    addresses: &[IpAddr],
    port: u16,
    deadline: Instant,
) -> Result<TcpStream, ConnectError> {
    let mut failed = ConnectError::Late(Phase::Connect, None);
    for (at, address) in addresses.iter().enumerate() {
        let peer = SocketAddr::new(*address, port);
        attempt::reached(Phase::Connect, Some(peer));
        let until = share(Instant::now(), deadline, addresses.len() - at);
        match timeout_at(until, TcpStream::connect(peer)).await {
            Ok(Ok(stream)) => {
                // Requests are written whole, so that waiting to fill a packet only delays them.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
                return Ok(stream);
            }
            Ok(Err(error)) => failed = ConnectError::Tcp(peer, error),
            Err(_) => failed = ConnectError::Late(Phase::Connect, Some(peer)),
        }
    }
    Err(failed)
}

/// Until when to try an address when `left`, itself included, are left to try.
fn share(now: Instant, deadline: Instant, left: usize) -> Instant {
    if left <= 1 {
        return deadline;
    }
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    let share = deadline.saturating_duration_since(now) / left;
    now + share.min(ADDRESS_SHARE_MAX)
}
