//! Sends one CONNECT request to a proxy and reads the status, which the HTTP library does not
//! return.

use std::io;
use std::time::Duration;

use http::StatusCode;
use hyper_util::client::proxy::matcher::Matcher;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

use super::NetworkSettings;
use super::proxy::{Decision, ProxyInfo};
use super::resolver::lookup;

/// Largest number of bytes that are read of a status line.
const LINE_MAX: u64 = 8 << 10;

impl NetworkSettings {
    /// Sends one CONNECT request for a URL to its proxy and returns the status of the response.
    /// Fails after the time `limit`.
    ///
    /// Returns `None` for an `http` URL, without a usable proxy, and if the proxy is not an `http`
    /// proxy.
    #[doc(hidden)]
    pub async fn proxy_answer(
        &self,
        target: &str,
        limit: Duration,
    ) -> Option<io::Result<StatusCode>> {
        let target = Url::parse(target).ok().filter(|target| target.scheme() == "https")?;
        match self.proxies.decide(&target) {
            Decision::Proxy(proxy) if proxy.url.scheme() == "http" => {
                let answer = timeout(limit, connect(proxy, &target)).await;
                Some(answer.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())))
            }
            _ => None,
        }
    }
}

async fn connect(proxy: &ProxyInfo, target: &Url) -> io::Result<StatusCode> {
    let host = target.host_str().unwrap_or_default();
    let server = format!("{host}:{}", target.port_or_known_default().unwrap_or(443));
    let mut request = format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n").into_bytes();
    // reqwest derives `Proxy-Authorization` from the URL in the same way.
    let matcher = Matcher::builder().all(proxy.url.as_str()).build();
    let intercept = target.as_str().parse().ok().and_then(|target| matcher.intercept(&target));
    if let Some(auth) = intercept.as_ref().and_then(|intercept| intercept.basic_auth()) {
        request.extend([b"Proxy-Authorization: ", auth.as_bytes(), b"\r\n"].concat());
    }
    request.extend(b"\r\n");
    let addresses = lookup(proxy.url.host_str().unwrap_or_default(), proxy.port()).await?;
    let mut stream = TcpStream::connect(&*addresses).await?;
    stream.write_all(&request).await?;
    let mut line = Vec::new();
    BufReader::new(stream).take(LINE_MAX).read_until(b'\n', &mut line).await?;
    let status = str::from_utf8(&line).ok().and_then(|line| line.strip_prefix("HTTP/1."));
    status.and_then(|rest| rest.get(2..5)?.parse().ok()).ok_or_else(|| {
        let rule = if line.is_empty() { "the proxy closed the connection" } else { "not HTTP" };
        io::Error::new(io::ErrorKind::InvalidData, rule)
    })
}
