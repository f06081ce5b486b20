//! Connections to receivers.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tower_service::Service;

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
    #[error("no address took the connection")]
    Tcp(Vec<(SocketAddr, io::Error)>),
    #[error("no TLS")]
    Tls(#[source] io::Error),
    #[error("the connection ended before TLS was agreed on")]
    Lost(#[source] io::Error),
    #[error("no connection in time")]
    Late,
}

/// Makes connections for the client. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connector(Arc<Shared>);

struct Shared {
    tls: Tls,
    timeout: Duration,
}

impl Connector {
    /// `timeout` bounds a connection that nobody waits for any more: the client lets it be finished
    /// when another became free first.
    pub(super) fn new(tls: Tls, timeout: Duration) -> Self {
        Self(Arc::new(Shared { tls, timeout }))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Stream>, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let connected = timeout(shared.timeout, shared.connect(&to)).await;
            connected.unwrap_or(Err(ConnectError::Late)).map(TokioIo::new)
        })
    }
}

impl Shared {
    async fn connect(&self, to: &Uri) -> Result<Stream, ConnectError> {
        let deadline = Instant::now() + self.timeout;
        let is_tls = to.scheme() == Some(&Scheme::HTTPS);
        let host = to.host().unwrap_or_default();
        let port = to.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let addresses = addresses(host, port).await.map_err(ConnectError::Dns)?;
        let stream = tcp(&addresses, deadline).await?;
        if !is_tls {
            return Ok(Stream::plain(stream));
        }
        let name = ServerName::try_from(bare(host).to_owned())
            .map_err(|error| ConnectError::Tls(io::Error::other(error)))?;
        let connector = self.tls.connector().await.map_err(ConnectError::Tls)?;
        match connector.connect(name, stream).await {
            Ok(stream) => Ok(Stream::tls(stream)),
            Err(error) if tls::is_of_tls(&error) => Err(ConnectError::Tls(error)),
            Err(error) => Err(ConnectError::Lost(error)),
        }
    }
}

/// A host without the brackets of an IPv6 address.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// The addresses of a host. Localhost names are not asked for: they mean this machine (RFC 6761
/// §6.3), and a resolver that says otherwise would send elsewhere what was meant to stay here.
async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = bare(host).parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    if is_localhost_name(host) {
        let here: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        return Ok(here.map(|address| SocketAddr::new(address, port)).into());
    }
    let mut found: Vec<SocketAddr> = Vec::new();
    for address in lookup_host((host, port)).await? {
        if !found.contains(&address) {
            found.push(address);
        }
    }
    found.truncate(ADDRESSES_TRIED_MAX);
    if found.is_empty() {
        return Err(io::Error::other("the name has no address"));
    }
    Ok(found)
}

/// Whether a name means this machine.
pub(super) fn is_localhost_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

/// The first connection that is made, trying addresses in order.
async fn tcp(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, ConnectError> {
    let mut failed = Vec::new();
    for (at, address) in addresses.iter().enumerate() {
        let until = share(Instant::now(), deadline, addresses.len() - at);
        match timeout_at(until, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are written whole, so that waiting to fill a packet only delays them. A
                // connection that cannot be told so works as well.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => failed.push((*address, error)),
            Err(_) => failed.push((*address, io::ErrorKind::TimedOut.into())),
        }
    }
    Err(ConnectError::Tcp(failed))
}

/// Until when to try an address when `left`, itself included, are left to try.
fn share(now: Instant, deadline: Instant, left: usize) -> Instant {
    if left <= 1 {
        return deadline;
    }
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    now + (deadline.saturating_duration_since(now) / left).min(ADDRESS_SHARE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_not_looked_up() {
        for host in ["localhost", "LOCALHOST", "a.b.localhost", "localhost."] {
            assert!(is_localhost_name(host), "{host}");
        }
        for host in ["localhost.example.org", "notlocalhost", "", "127.0.0.1"] {
            assert!(!is_localhost_name(host), "{host}");
        }
    }

    #[test]
    fn the_last_address_has_all_the_time_and_those_before_it_a_share() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let shares = |total, left| share(now, now + total, left) - now;
        assert_eq!(shares(10 * second, 1), 10 * second);
        assert_eq!(shares(3 * second, 2), second * 3 / 2);
        assert_eq!(shares(10 * second, 2), ADDRESS_SHARE_MAX);
        assert_eq!(shares(Duration::ZERO, 3), Duration::ZERO);
    }
}
