//! Proxies and TLS servers on loopback that log what reaches them. Each runs on threads of its own
//! that end with the process of the test.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The entries of a log, in their order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn add(&self, entry: impl Into<String>) {
        self.0.lock().unwrap().push(entry.into());
    }

    /// Removes and returns all entries.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

/// A certificate authority.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate.
    pub(crate) pem: String,
}

/// A certificate of a server, and its key.
pub(crate) struct Identity {
    pub(crate) certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
    /// The certificate as text.
    pub(crate) pem: String,
    pub(crate) key_pem: String,
}

impl Identity {
    fn new(certificate: &Certificate, key: &KeyPair) -> Self {
        let key_pem = key.serialize_pem();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        Self { certificate: certificate.der().clone(), key, pem: certificate.pem(), key_pem }
    }

    /// The certificate and its key as text.
    pub(crate) fn pem_with_key(&self) -> String {
        format!("{}{}", self.pem, self.key_pem)
    }

    /// Signs itself. `is_ca` makes the certificate of an authority, as `openssl req -x509` does.
    pub(crate) fn self_signed(host: &str, is_ca: bool) -> Self {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let key = KeyPair::generate().unwrap();
        Self::new(&params.self_signed(&key).unwrap(), &key)
    }
}

impl Authority {
    pub(crate) fn new() -> Self {
        Self::named("test authority")
    }

    pub(crate) fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// Issues a certificate for a host, after `edit` has changed it.
    pub(crate) fn issue(&self, host: &str, edit: impl FnOnce(&mut CertificateParams)) -> Identity {
        let mut params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        edit(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity::new(&certificate, &key)
    }

    pub(crate) fn valid_for(&self, host: &str) -> Identity {
        self.issue(host, |_| {})
    }

    pub(crate) fn expired_for(&self, host: &str) -> Identity {
        self.issue(host, |params| {
            params.not_before = rcgen::date_time_ymd(2020, 1, 1);
            params.not_after = rcgen::date_time_ymd(2021, 1, 1);
        })
    }
}

/// Runs `serve` for each connection to a new port.
fn listen(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            // A client that gives up breaks its connection, which is not a failure of the server.
            thread::spawn(move || serve(stream).unwrap_or_default());
        }
    });
    address
}

/// Reads to the end of a head; `None` if the connection ends before it.
fn head(stream: &mut impl Read) -> io::Result<Option<String>> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Ok(None);
        }
        head.push(byte[0]);
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

/// A web server that answers every request with the same JSON.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// "connection" for each connection, and the first line of each request.
    pub(crate) log: Log,
}

impl Server {
    pub(crate) fn http(body: &'static str) -> Self {
        let log = Log::default();
        let requests = log.clone();
        let address = listen(move |mut stream| {
            requests.add("connection");
            answer(&mut stream, &requests, body)
        });
        Self { address, log }
    }

    pub(crate) fn https(identity: Identity, body: &'static str) -> Self {
        Self::with_tls(tls(identity), body)
    }

    /// Accepts only clients with a certificate of the authority.
    pub(crate) fn mutual_tls(
        identity: Identity,
        authority: &Authority,
        body: &'static str,
    ) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
            Arc::new(roots),
            Arc::clone(&provider),
        );
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(vec![identity.certificate], identity.key);
        Self::with_tls(Arc::new(config.unwrap()), body)
    }

    fn with_tls(config: Arc<rustls::ServerConfig>, body: &'static str) -> Self {
        let log = Log::default();
        let requests = log.clone();
        let address = listen(move |stream| {
            requests.add("connection");
            let mut stream = handshake(&config, stream);
            answer(&mut stream, &requests, body)?;
            stream.conn.send_close_notify();
            stream.flush()
        });
        Self { address, log }
    }
}

fn tls(identity: Identity) -> Arc<rustls::ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.certificate], identity.key);
    Arc::new(config.unwrap())
}

type TlsStream = rustls::StreamOwned<rustls::ServerConnection, TcpStream>;

fn handshake(config: &Arc<rustls::ServerConfig>, stream: TcpStream) -> TlsStream {
    rustls::StreamOwned::new(rustls::ServerConnection::new(Arc::clone(config)).unwrap(), stream)
}

fn answer(stream: &mut (impl Read + Write), log: &Log, body: &str) -> io::Result<()> {
    let Some(head) = head(stream)? else { return Ok(()) };
    log.add(head.lines().next().unwrap_or_default());
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    )?;
    stream.flush()
}

/// An HTTP proxy.
pub(crate) struct HttpProxy {
    pub(crate) address: SocketAddr,
    /// The first line of each request, and its `Proxy-Authorization` if there is one.
    pub(crate) log: Log,
}

impl HttpProxy {
    /// Connects every request to one server, whatever its host.
    pub(crate) fn to(server: SocketAddr) -> Self {
        Self::start(move |stream, head| relay(stream, head, server))
    }

    /// Answers every request by itself.
    pub(crate) fn refusing(status: &'static str) -> Self {
        Self::start(move |mut stream, _| {
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        })
    }

    fn start(serve: impl Fn(TcpStream, &str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let log = Log::default();
        let requests = log.clone();
        let address = listen(move |mut stream| {
            let Some(head) = head(&mut stream)? else { return Ok(()) };
            let mut lines = head.lines();
            let first = lines.next().unwrap_or_default();
            let auth = lines.find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("proxy-authorization").then_some(value)
            });
            requests.add(auth.map_or(first.to_owned(), |auth| format!("{first} [{auth}]")));
            serve(stream, &head)
        });
        Self { address, log }
    }
}

/// Connects a client to a server: with CONNECT all bytes, else one request with the path alone.
fn relay(mut client: TcpStream, head: &str, server: SocketAddr) -> io::Result<()> {
    let mut server = TcpStream::connect(server)?;
    if head.starts_with("CONNECT ") {
        client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    } else {
        let mut words = head.splitn(3, ' ');
        let (method, url) = (words.next().unwrap(), words.next().unwrap());
        let path = url.splitn(4, '/').nth(3).unwrap();
        write!(server, "{method} /{path} {}", words.next().unwrap())?;
    }
    pump(client, server)
}

/// Copies bytes in both directions until both ends are closed.
fn pump(client: TcpStream, server: TcpStream) -> io::Result<()> {
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    let up = thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (server, client);
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    up.join().unwrap();
    Ok(())
}

/// A SOCKS5 server (RFC 1928, RFC 1929) that connects every request to one server.
pub(crate) struct SocksProxy {
    pub(crate) address: SocketAddr,
    /// The requested address: "domain forms.example:443" or "ip 192.0.2.1:443".
    pub(crate) log: Log,
}

impl SocksProxy {
    pub(crate) fn to(
        server: SocketAddr,
        credentials: Option<(&'static str, &'static str)>,
    ) -> Self {
        let log = Log::default();
        let requests = log.clone();
        let address = listen(move |mut client| {
            if !authenticate(&mut client, credentials)? {
                return Ok(());
            }
            requests.add(requested(&mut client)?);
            client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
            pump(client, TcpStream::connect(server)?)
        });
        Self { address, log }
    }
}

fn bytes(stream: &mut TcpStream, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a length of one byte, and so many bytes.
fn prefixed(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let length = bytes(stream, 1)?[0];
    bytes(stream, length.into())
}

fn authenticate(client: &mut TcpStream, credentials: Option<(&str, &str)>) -> io::Result<bool> {
    assert_eq!(bytes(client, 1)?, [5], "the version of the protocol");
    let offered = prefixed(client)?;
    let method = if credentials.is_some() { 2 } else { 0 };
    if !offered.contains(&method) {
        client.write_all(&[5, 0xFF])?;
        return Ok(false);
    }
    client.write_all(&[5, method])?;
    let Some((user, password)) = credentials else { return Ok(true) };
    assert_eq!(bytes(client, 1)?, [1], "the version of the subnegotiation");
    let is_right = prefixed(client)? == user.as_bytes() && prefixed(client)? == password.as_bytes();
    client.write_all(&[1, u8::from(!is_right)])?;
    Ok(is_right)
}

fn requested(client: &mut TcpStream) -> io::Result<String> {
    assert_eq!(bytes(client, 3)?, [5, 1, 0], "a request to connect");
    let host = match bytes(client, 1)?[0] {
        1 => {
            let address = bytes(client, 4)?;
            let address: [u8; 4] = address.try_into().unwrap();
            format!("ip {}", Ipv4Addr::from(address))
        }
        3 => format!("domain {}", String::from_utf8_lossy(&prefixed(client)?)),
        other => panic!("address type {other}"),
    };
    let port = bytes(client, 2)?;
    Ok(format!("{host}:{}", u16::from_be_bytes([port[0], port[1]])))
}
