//! Connections to endpoints: to addresses that the policy lets through, and to no others.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use formsvc_protocol::is_localhost_name;
use http::Uri;
use http::uri::Scheme;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tower::Service;

use super::attempt::{self, Phase};
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
        let (stream, peer) = tcp(&vetted, port, deadline).await?;
        // Whom the connection is to as the system sees it, whatever was asked of it.
        let peer = stream.peer_addr().map_err(|error| ConnectError::Tcp(peer, error))?;
        self.policy.check(host, port, peer.ip())?;
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
) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let mut failed = None;
    for (at, address) in addresses.iter().enumerate() {
        let peer = SocketAddr::new(*address, port);
        attempt::reached(Phase::Connect, Some(peer));
        let until = share(Instant::now(), deadline, addresses.len() - at);
        let error = match timeout_at(until, TcpStream::connect(peer)).await {
            Ok(Ok(stream)) => {
                // Requests are written whole, so that waiting to fill a packet only delays them.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "cannot set TCP_NODELAY");
                }
                return Ok((stream, peer));
            }
            Ok(Err(error)) => ConnectError::Tcp(peer, error),
            Err(_) => ConnectError::Late(Phase::Connect, Some(peer)),
        };
        failed = Some(match failed {
            Some(earlier) => decisive(earlier, error),
            None => error,
        });
    }
    Err(failed.unwrap_or(ConnectError::Late(Phase::Connect, None)))
}

/// Returns the error to report when two addresses failed: the first one other than EADDRNOTAVAIL,
/// which does not concern the endpoint. Of two of these, the one for IPv4 (no free local port) says
/// more than the one for IPv6 (no IPv6 on this machine).
fn decisive(earlier: ConnectError, later: ConnectError) -> ConnectError {
    let rank = |error: &ConnectError| match error {
        ConnectError::Tcp(peer, error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
            if peer.is_ipv4() { 1 } else { 2 }
        }
        _ => 0,
    };
    if rank(&later) < rank(&earlier) { later } else { earlier }
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn shares(total: Duration, left: usize) -> Duration {
        let now = Instant::now();
        share(now, now + total, left) - now
    }

    #[test]
    fn the_last_address_has_all_the_time_and_those_before_it_a_share() {
        assert_eq!(shares(10 * SECOND, 1), 10 * SECOND);
        assert_eq!(shares(3 * SECOND, 2), SECOND * 3 / 2);
        assert_eq!(shares(SECOND, 4), SECOND / 4);
        assert_eq!(shares(10 * SECOND, 2), ADDRESS_SHARE_MAX);
        assert_eq!(shares(Duration::ZERO, 3), Duration::ZERO);
    }

    #[test]
    fn first_error_other_than_eaddrnotavail_decides() {
        use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable};
        let (v4, v6) = ("1.1.1.1:443", "[2606:4700::1111]:443");
        let tcp =
            |peer: &str, kind: io::ErrorKind| ConnectError::Tcp(peer.parse().unwrap(), kind.into());
        for (errors, expected) in [
            ([(v4, ConnectionRefused), (v6, AddrNotAvailable)], 0),
            ([(v6, AddrNotAvailable), (v4, ConnectionRefused)], 1),
            ([(v4, HostUnreachable), (v4, ConnectionRefused)], 0),
            ([(v4, AddrNotAvailable), (v6, AddrNotAvailable)], 0),
            ([(v6, AddrNotAvailable), (v4, AddrNotAvailable)], 1),
            ([(v6, AddrNotAvailable), (v6, AddrNotAvailable)], 0),
        ] {
            let [earlier, later] = errors.map(|(peer, kind)| tcp(peer, kind));
            let ConnectError::Tcp(peer, error) = decisive(earlier, later) else { panic!() };
            let (expected_peer, expected_kind) = errors[expected];
            assert_eq!((peer.to_string().as_str(), error.kind()), (expected_peer, expected_kind));
        }
        let late = ConnectError::Late(Phase::Connect, Some(v4.parse().unwrap()));
        let decided = decisive(late, tcp(v6, AddrNotAvailable));
        assert!(matches!(decided, ConnectError::Late(..)), "{decided}");
    }

    fn vet(policy: &EgressPolicy, addresses: &[&str]) -> Result<Vec<String>, ConnectError> {
        let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
        let vetted = vetted(policy, "host.test", 443, addresses)?;
        Ok(vetted.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn one_address_that_is_denied_denies_the_name() {
        let production = EgressPolicy::production();
        for denied in ["127.0.0.1", "::ffff:10.0.0.1", "fd00::1", "169.254.169.254"] {
            for answers in [[denied, "1.1.1.1"], ["1.1.1.1", denied]] {
                let error = vet(&production, &answers).unwrap_err();
                assert!(matches!(error, ConnectError::Denied(_)), "{answers:?}: {error}");
            }
        }
        // Also beyond those that would be tried.
        let mut many: Vec<_> = (1..=20).map(|n| format!("1.1.1.{n}")).collect();
        many.push("10.0.0.1".to_owned());
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert!(matches!(vet(&production, &many), Err(ConnectError::Denied(_))));
        assert_eq!(vet(&production, &many[..20]).unwrap(), many[..ADDRESSES_TRIED_MAX]);
    }

    #[test]
    fn addresses_are_tried_once_in_their_order_and_as_what_they_are() {
        let production = EgressPolicy::production();
        let answers = ["2606:4700::1111", "::ffff:1.1.1.1", "1.1.1.1", "1.0.0.1"];
        assert_eq!(vet(&production, &answers).unwrap(), ["2606:4700::1111", "1.1.1.1", "1.0.0.1"]);
        assert!(matches!(vet(&production, &[]), Err(ConnectError::Dns(_))));
    }
}
