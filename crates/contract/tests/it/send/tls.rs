//! Certificates and other failures of TLS.

use std::net::SocketAddr;
use std::sync::Arc;

use formsvc_client::network::{CertificateOrigin, NetworkSettings};
use formsvc_contract::send::{HttpSender, HttpSenderOptions, SendErrorKind};
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use url::Url;

use super::{OK, delivery, failure, listener, read_request, sender};

/// A certificate to generate.
struct Certificate {
    name: &'static str,
    /// As `openssl req -x509` makes them by default.
    is_authority: bool,
    /// The year in which it expires.
    until: i32,
}

/// A TLS server with a self-signed certificate.
struct Server {
    address: SocketAddr,
    pem: String,
}

impl Server {
    /// Starts a server that ends with the test's runtime.
    async fn start(certificate: &Certificate) -> Self {
        let mut params = rcgen::CertificateParams::new(vec![certificate.name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(certificate.until, 1, 1);
        if certificate.is_authority {
            params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        }
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let (listener, address) = listener().await;
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // A sender that does not trust the certificate closes the connection.
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                read_request(&mut stream).await;
                stream.write_all(OK).await.unwrap();
                stream.shutdown().await.unwrap();
            }
        });
        Self { address, pem: certificate.pem() }
    }

    fn url(&self) -> Url {
        format!("https://localhost:{}/", self.address.port()).parse().unwrap()
    }
}

fn certificate(name: &'static str, is_authority: bool) -> Certificate {
    Certificate { name, is_authority, until: 4000 }
}

fn with(network: NetworkSettings) -> HttpSender {
    HttpSender::new(HttpSenderOptions { network, ..HttpSenderOptions::default() }).unwrap()
}

fn trusting(pem: &str) -> HttpSender {
    let mut network = NetworkSettings::direct();
    let origin = CertificateOrigin { setting: "--cacert", path: "cert.pem".into() };
    network.add_root_certificates(pem.as_bytes(), origin).unwrap();
    with(network)
}

async fn assert_untrusted(sender: &HttpSender, url: Url, text: &str) {
    let (kind, message) = failure(sender, url).await;
    assert_eq!(kind, SendErrorKind::Untrusted, "{message}");
    assert!(message.starts_with("the certificate of localhost:"), "{message}");
    assert!(message.contains(text), "{message}");
}

#[tokio::test]
async fn unknown_certificate_is_untrusted() {
    let other = Server::start(&certificate("localhost", false)).await;
    for (is_authority, text) in
        [(false, "is not issued by a trusted authority"), (true, "is self-signed")]
    {
        let server = Server::start(&certificate("localhost", is_authority)).await;
        assert_untrusted(&sender(), server.url(), text).await;
        assert_untrusted(&trusting(&other.pem), server.url(), "").await;
    }
}

#[tokio::test]
async fn added_certificate_is_trusted() {
    for is_authority in [false, true] {
        let server = Server::start(&certificate("localhost", is_authority)).await;
        let sent = delivery(server.url(), b"{}");
        assert_eq!(trusting(&server.pem).send(sent).await.unwrap().status, 200);
    }
}

#[tokio::test]
async fn ssl_cert_file_is_trusted() {
    let server = Server::start(&certificate("localhost", false)).await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cert.pem");
    std::fs::write(&path, &server.pem).unwrap();
    let settings =
        NetworkSettings::from_vars(|name| (name == "SSL_CERT_FILE").then(|| path.clone().into()));
    let sent = delivery(server.url(), b"{}");
    assert_eq!(with(settings.unwrap()).send(sent).await.unwrap().status, 200);
}

#[tokio::test]
async fn insecure_sender_accepts_any_certificate() {
    let server = Server::start(&Certificate { until: 2001, ..certificate("a.test", true) }).await;
    let mut network = NetworkSettings::direct();
    network.danger_accept_any_certificate(true);
    assert_eq!(with(network).send(delivery(server.url(), b"{}")).await.unwrap().status, 200);
}

#[tokio::test]
async fn trusted_certificate_of_another_name_is_refused() {
    let server = Server::start(&certificate("shop.localhost", true)).await;
    assert_untrusted(&trusting(&server.pem), server.url(), "is for another host name").await;
}

#[tokio::test]
async fn trusted_certificate_after_its_end_is_refused() {
    for is_authority in [false, true] {
        let expired = Certificate { until: 2001, ..certificate("localhost", is_authority) };
        let server = Server::start(&expired).await;
        assert_untrusted(&trusting(&server.pem), server.url(), "has expired").await;
    }
}

/// Accepts one connection and sends these bytes, whatever the client's TLS greeting is.
async fn answering_greeting(bytes: &'static [u8]) -> (SocketAddr, JoinHandle<()>) {
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap_or_default();
    });
    (address, task)
}

#[tokio::test]
async fn plain_http_port_is_reported_as_not_tls() {
    let (address, task) = answering_greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    let (kind, message) = failure(&sender(), format!("https://{address}/").parse().unwrap()).await;
    assert_eq!(kind, SendErrorKind::Tls, "{message}");
    assert_eq!(message, format!("{address} does not use TLS: its URL may be http://{address}"));
    task.await.unwrap();
}

#[tokio::test]
async fn silence_after_the_tls_greeting_offers_http() {
    let (_listener, address) = listener().await;
    tokio::time::pause();
    let (kind, message) = failure(&sender(), format!("https://{address}/").parse().unwrap()).await;
    assert_eq!(kind, SendErrorKind::Timeout, "{message}");
    let expected = format!(
        "no connection to {address} in time: TLS was tried and nothing came back; if the server does \
         not use TLS, its URL is http://{address}"
    );
    assert_eq!(message, expected);
}

#[tokio::test]
async fn tls_server_without_http_1_is_reported() {
    // The alert no_application_protocol, which a server that speaks only HTTP/2 sends.
    let (address, _) = answering_greeting(b"\x15\x03\x03\0\x02\x02\x78").await;
    let (kind, message) = failure(&sender(), format!("https://{address}/").parse().unwrap()).await;
    assert_eq!(kind, SendErrorKind::Tls, "{message}");
    let expected = format!(
        "{address} accepts no HTTP/1.1 over TLS; if it speaks only HTTP/2, enable HTTP/1.1 on it"
    );
    assert_eq!(message, expected);
}

#[tokio::test]
async fn connection_closed_in_the_handshake_is_an_error() {
    let (listener, address) = listener().await;
    let task = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
    });
    let (kind, message) = failure(&sender(), format!("https://{address}/").parse().unwrap()).await;
    assert_eq!(kind, SendErrorKind::Connect, "{message}");
    assert!(message.contains(&address.to_string()), "{message}");
    task.await.unwrap();
}
