//! Hostile endpoints.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// The behavior of a hostile endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vice {
    /// Reads a request and never responds.
    Hangs,
    /// Responds with 200 and sends an endless body, byte by byte.
    Drips,
    /// Reads a request and resets the connection.
    Resets,
    /// Redirects to another URL.
    Redirects,
    /// Responds with a body of a gigabyte.
    HugeBody,
    /// Responds with a megabyte of gzip that decompresses to 160 times as much.
    GzipBomb,
    /// Responds with endless headers.
    EndlessHead,
    /// Has an expired certificate.
    ExpiredTls,
    /// Has a valid certificate. Shows that `ExpiredTls` fails only because of its certificate.
    GoodTls,
}

impl Vice {
    /// Each behavior with the error code of an attempt; `None` if the delivery succeeds.
    pub const ALL: [(Self, Option<&'static str>); 9] = [
        (Self::Hangs, Some("timeout")),
        (Self::Drips, None),
        (Self::Resets, Some("connection_lost")),
        (Self::Redirects, Some("redirected")),
        (Self::HugeBody, None),
        (Self::GzipBomb, None),
        (Self::EndlessHead, Some("response_malformed")),
        (Self::ExpiredTls, Some("tls_failed")),
        (Self::GoodTls, None),
    ];

    fn is_tls(self) -> bool {
        matches!(self, Self::ExpiredTls | Self::GoodTls)
    }
}

/// A hostile endpoint. It ends when this is dropped.
pub struct Hostile {
    /// Its behavior.
    pub vice: Vice,
    /// Its URL.
    pub url: String,
    serving: AbortHandle,
}

/// A certificate authority.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    /// Creates a new authority, which no system trusts.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// Returns the certificate of the authority as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Returns a TLS acceptor for 127.0.0.1 with a current or an expired certificate.
    fn acceptor(&self, expired: bool) -> TlsAcceptor {
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        if expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2024, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider supports them")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        TlsAcceptor::from(Arc::new(config.expect("the key matches the certificate")))
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Hostile {
    /// Listens on a free port. `Redirects` redirects to `elsewhere`.
    pub async fn start(vice: Vice, authority: &Authority, elsewhere: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let addr: SocketAddr = listener.local_addr().expect("it listens");
        let scheme = if vice.is_tls() { "https" } else { "http" };
        let acceptor = vice.is_tls().then(|| authority.acceptor(vice == Vice::ExpiredTls));
        let location = elsewhere.to_owned();
        // Compressed before the first request, because it takes too long during a request.
        BOMB.get_or_init(bomb);
        let serving = tokio::spawn(async move {
            // The connections are closed when the endpoint is dropped.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let (acceptor, location) = (acceptor.clone(), location.clone());
                connections.spawn(async move {
                    match acceptor {
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                misbehave(vice, stream, &location).await;
                            }
                        }
                        None if vice == Vice::Resets => reset(stream).await,
                        None => misbehave(vice, stream, &location).await,
                    }
                });
            }
        });
        let url = format!("{scheme}://{addr}/hook");
        Self { vice, url, serving: serving.abort_handle() }
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn reset(mut stream: TcpStream) {
    read_request(&mut stream).await;
    let _ = stream.set_zero_linger();
}

/// Answers requests until the client disconnects.
async fn misbehave(vice: Vice, mut stream: impl AsyncRead + AsyncWrite + Unpin, elsewhere: &str) {
    while read_request(&mut stream).await {
        let written = match vice {
            Vice::Hangs => std::future::pending().await,
            Vice::Drips => drip(&mut stream).await,
            Vice::Redirects => {
                let head = format!("302 Found\r\nlocation: {elsewhere}\r\ncontent-length: 0");
                answer(&mut stream, &head, &[], 0).await
            }
            Vice::HugeBody => {
                let head = format!("200 OK\r\ncontent-length: {}", 1 << 30);
                answer(&mut stream, &head, &[b'x'; 1 << 12], 1 << 18).await
            }
            Vice::GzipBomb => {
                let bomb = BOMB.get().expect("the bomb was compressed at the start");
                let length = bomb.len();
                let head = format!("200 OK\r\ncontent-encoding: gzip\r\ncontent-length: {length}");
                answer(&mut stream, &head, bomb, 1).await
            }
            Vice::EndlessHead => {
                let line = format!("200 OK\r\nx-padding: {}", "x".repeat(1_000));
                let more = format!("x-padding: {}\r\n", "x".repeat(1_000));
                answer(&mut stream, line.trim_end(), more.as_bytes(), usize::MAX).await
            }
            Vice::Resets | Vice::ExpiredTls | Vice::GoodTls => {
                answer(&mut stream, "200 OK\r\ncontent-length: 0", &[], 0).await
            }
        };
        if written.is_err() {
            return;
        }
    }
}

/// Sends a head, then `part` repeatedly. For an endless head, each part is another header line.
async fn answer(
    stream: &mut (impl AsyncWrite + Unpin),
    head: &str,
    part: &[u8],
    times: usize,
) -> std::io::Result<()> {
    let end = if times == usize::MAX { "\r\n" } else { "\r\n\r\n" };
    stream.write_all(format!("HTTP/1.1 {head}{end}").as_bytes()).await?;
    for _ in 0..times {
        stream.write_all(part).await?;
    }
    stream.flush().await
}

async fn drip(stream: &mut (impl AsyncWrite + Unpin)) -> std::io::Result<()> {
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n").await?;
    loop {
        stream.write_all(b"x").await?;
        stream.flush().await?;
        // Sleeps because the test needs a slow response.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Reads a request with a content length. Returns false at the end of the connection.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&request);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then(|| value.parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return true;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read @ 1..) => request.extend_from_slice(&buffer[..read]),
            _ => return false,
        }
    }
}

static BOMB: OnceLock<Vec<u8>> = OnceLock::new();

/// Returns compressed zeros: one literal, then "repeat the last byte 258 times", 13 bits each.
fn bomb() -> Vec<u8> {
    const BYTES: usize = 1 << 20;
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    // One final block with the fixed codes of the format, then the literal zero.
    let start = [1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0];
    // Length 258, distance 1.
    let repeat = [1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0];
    let mut bits = start.into_iter().chain(std::iter::repeat_n(repeat, usize::MAX / 13).flatten());
    while bytes.len() < BYTES {
        let byte = bits.by_ref().take(8).enumerate().map(|(at, bit)| bit << at).sum();
        bytes.push(byte);
    }
    bytes
}
