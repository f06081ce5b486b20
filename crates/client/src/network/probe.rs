//! Sends one CONNECT request to a proxy and reads the status, which the HTTP library does not
//! return.

use std::io;
use std::time::Duration;

use http::StatusCode;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use super::NetworkSettings;
use super::proxy::{Decision, Proxy, port};
use super::resolver::lookup;

/// Largest number of bytes that are read of a response.
const HEAD_MAX: usize = 8 << 10;

impl NetworkSettings {
    /// Sends one CONNECT request for a URL to its proxy and returns the status of the response.
    /// Fails after the time `limit`.
    ///
    /// Returns `None` if requests to the URL send no CONNECT: for an `http` URL, without a usable
    /// proxy, or with a SOCKS proxy.
    #[doc(hidden)]
    pub async fn proxy_answer(
        &self,
        target: &str,
        limit: Duration,
    ) -> Option<io::Result<StatusCode>> {
        let target = Url::parse(target).ok().filter(|target| target.scheme() == "https")?;
        let Decision::Proxy(proxy) = self.proxies.decide(&target) else { return None };
        if proxy.url.scheme().starts_with("socks") {
            return None;
        }
        let answer = timeout(limit, self.connect(proxy, &target)).await;
        Some(answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())))
    }

    async fn connect(&self, proxy: &Proxy, target: &Url) -> io::Result<StatusCode> {
        let host = proxy.url.host_str().unwrap_or_default();
        let stream = TcpStream::connect(&*lookup(host, port(&proxy.url)).await?).await?;
        let request = request(proxy, target);
        if proxy.url.scheme() == "http" {
            return exchange(stream, &request).await;
        }
        #[cfg(feature = "rustls")]
        {
            use super::no_proxy::without_brackets;
            use rustls::pki_types::ServerName;

            let mut config = self.tls_config().map_err(io::Error::other)?;
            config.alpn_protocols.clear();
            let name = ServerName::try_from(without_brackets(host).to_owned())
                .map_err(io::Error::other)?;
            let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config));
            exchange(connector.connect(name, stream).await?, &request).await
        }
        #[cfg(not(feature = "rustls"))]
        Err(io::Error::other("the cargo feature `rustls` is off"))
    }
}

fn request(proxy: &Proxy, target: &Url) -> Vec<u8> {
    let host = target.host_str().unwrap_or_default();
    let server = format!("{host}:{}", target.port_or_known_default().unwrap_or(443));
    let mut request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n").into_bytes();
    // reqwest derives `Proxy-Authorization` from the URL in the same way.
    let matcher = Matcher::builder().all(proxy.url.as_str()).build();
    let intercept = target.as_str().parse().ok().and_then(|target| matcher.intercept(&target));
    if let Some(auth) = intercept.as_ref().and_then(|intercept| intercept.basic_auth()) {
        request.extend_from_slice(b"Proxy-Authorization: ");
        request.extend_from_slice(auth.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    request
}

async fn exchange(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    request: &[u8],
) -> io::Result<StatusCode> {
    stream.write_all(request).await?;
    stream.flush().await?;
    let mut head = Vec::new();
    let mut answer = stream.take(HEAD_MAX as u64);
    while !head.windows(2).any(|end| end == b"\r\n") {
        if answer.read_buf(&mut head).await? == 0 {
            break;
        }
    }
    status(&head).ok_or_else(|| {
        let rule = if head.is_empty() { "the proxy closed the connection" } else { "not HTTP" };
        io::Error::new(io::ErrorKind::InvalidData, rule)
    })
}

/// The status in the first line of a response.
fn status(head: &[u8]) -> Option<StatusCode> {
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\r').next()?).ok()?;
    let (version, rest) = line.split_once(' ')?;
    version.strip_prefix("HTTP/1.")?;
    rest.get(..3)?.parse().ok()
}
