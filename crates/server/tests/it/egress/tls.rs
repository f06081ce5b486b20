//! Deliveries over TLS: who is trusted.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use formsvc_server::egress::{
    BodyEnd, ClientOptions, DeliveryClient, EgressPolicy, EndpointUrl, ExtraRoots, ExtraRootsError,
    FailureCode, Phase, Resolve, Resolved,
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::RootCertStore;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use super::receiver::{OK, Receiver, post, read_request, url};

/// The name that certificates are for, and that [`Local`] finds on this machine.
pub(super) const NAME: &str = "hooks.test";

/// Finds every name on this machine.
pub(super) struct Local;

impl Resolve for Local {
    fn resolve(&self, _: &str) -> Resolved {
        Box::pin(async { io::Result::Ok(vec![IpAddr::from([127, 0, 0, 1])]) })
    }
}

/// An authority of its own.
pub(super) struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key.
pub(super) struct Identity(CertificateDer<'static>, PrivateKeyDer<'static>);

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    pub(super) fn identity(&self, name: &str) -> Identity {
        self.sign(&CertificateParams::new([name.to_owned()]).unwrap())
    }

    fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Identity(certificate.der().clone(), key_of(&key))
    }

    /// A client that trusts it, and may reach this machine.
    pub(super) fn client(&self, policy: EgressPolicy, resolver: impl Resolve) -> DeliveryClient {
        let extra_roots = ExtraRoots::from_pem(self.0.pem().as_bytes()).unwrap();
        let resolver = Arc::new(resolver);
        DeliveryClient::new(ClientOptions { policy, extra_roots, resolver, ..Default::default() })
    }
}

fn key_of(key: &KeyPair) -> PrivateKeyDer<'static> {
    PrivatePkcs8KeyDer::from(key.serialize_der()).into()
}

fn config(identity: Identity, client_roots: Option<RootCertStore>) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match client_roots {
        Some(roots) => {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_single_cert(vec![identity.0], identity.1).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

/// An endpoint that speaks TLS and answers each request; tells what was agreed on with each client.
pub(super) async fn answering(
    config: ServerConfig,
) -> (Receiver, mpsc::UnboundedReceiver<Option<Vec<u8>>>) {
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (sender, agreed) = mpsc::unbounded_channel();
    let receiver = Receiver::start(move |stream| {
        let (acceptor, sender) = (acceptor.clone(), sender.clone());
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let _ = sender.send(stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec));
            while read_request(&mut stream).await.is_some() {
                stream.write_all(OK.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    (receiver, agreed)
}

/// An endpoint with an identity.
pub(super) async fn answering_as(identity: Identity) -> Receiver {
    answering(config(identity, None)).await.0
}

pub(super) fn url_of(receiver: &Receiver) -> EndpointUrl {
    url(&format!("https://{NAME}:{}/hook", receiver.addr.port()))
}

#[tokio::test]
async fn an_endpoint_with_a_certificate_of_a_trusted_authority_is_delivered_to() {
    let authority = Authority::new();
    let (receiver, mut agreed) = answering(config(authority.identity(NAME), None)).await;
    let client = authority.client(EgressPolicy::dev(), Local);
    for round in 0..3 {
        let response = post(&client, &url_of(&receiver)).await.unwrap();
        assert_eq!((response.status.as_u16(), response.peer), (200, receiver.addr));
        assert_eq!(response.reused, round > 0);
    }
    assert_eq!(receiver.connections(), 1);
    assert_eq!(agreed.recv().await.unwrap().as_deref(), Some(b"http/1.1".as_slice()));
}

#[tokio::test]
async fn a_certificate_for_an_address_is_good_for_a_url_with_it() {
    let authority = Authority::new();
    let client = authority.client(EgressPolicy::dev(), Local);
    for (name, is_trusted) in [("127.0.0.1", true), ("127.0.0.2", false), (NAME, false)] {
        let receiver = answering_as(authority.identity(name)).await;
        let url = url(&format!("https://{}/", receiver.addr));
        let outcome = post(&client, &url).await;
        assert_eq!(outcome.is_ok(), is_trusted, "{name}: {outcome:?}");
    }
}

#[tokio::test]
async fn certificates_that_prove_nothing_are_refused() {
    let authority = Authority::new();
    let client = authority.client(EgressPolicy::dev(), Local);
    let params = || CertificateParams::new([NAME.to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    let self_signed = params().self_signed(&key).unwrap();
    let (mut expired, mut early) = (params(), params());
    expired.not_after = date_time_ymd(2020, 1, 1);
    early.not_before = date_time_ymd(3000, 1, 1);
    for (what, identity) in [
        ("self-signed", Identity(self_signed.der().clone(), key_of(&key))),
        ("of an unknown authority", Authority::new().identity(NAME)),
        ("expired", authority.sign(&expired)),
        ("not yet valid", authority.sign(&early)),
        ("for another name", authority.identity("other.test")),
        ("for a name below", authority.identity("*.hooks.test")),
    ] {
        let (receiver, mut agreed) = answering(config(identity, None)).await;
        let failure = post(&client, &url_of(&receiver)).await.unwrap_err();
        assert_eq!(failure.code, FailureCode::TlsFailed, "{what}: {failure:?}");
        assert_eq!((failure.phase, failure.peer), (Phase::Tls, Some(receiver.addr)), "{what}");
        assert!(failure.to_string().contains("certificate"), "{what}: {failure}");
        drop(receiver);
        agreed.try_recv().expect_err(what);
    }
}

#[tokio::test]
async fn without_the_extra_root_nothing_of_the_authority_is_trusted() {
    let authority = Authority::new();
    let receiver = answering_as(authority.identity(NAME)).await;
    let stranger = Authority::new().client(EgressPolicy::dev(), Local);
    let failure = post(&stranger, &url_of(&receiver)).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TlsFailed);
}

#[tokio::test]
async fn an_endpoint_that_wants_a_certificate_gets_none() {
    let authority = Authority::new();
    let mut roots = RootCertStore::empty();
    roots.add(authority.0.der().clone()).unwrap();
    let (receiver, _) = answering(config(authority.identity(NAME), Some(roots))).await;
    let client = authority.client(EgressPolicy::dev(), Local);
    let failure = post(&client, &url_of(&receiver)).await.unwrap_err();
    assert_eq!(failure.code, FailureCode::TlsFailed, "{failure:?}");
}

#[tokio::test]
async fn an_endpoint_that_does_not_speak_tls_is_told_from_one_that_hangs_up() {
    let client = Authority::new().client(EgressPolicy::dev(), Local);
    let plain = Receiver::start(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    })
    .await;
    let failure = post(&client, &url_of(&plain)).await.unwrap_err();
    assert_eq!((failure.code, failure.phase), (FailureCode::TlsFailed, Phase::Tls));
    let silent = Receiver::start(|stream| async move { drop(stream) }).await;
    let failure = post(&client, &url_of(&silent)).await.unwrap_err();
    assert_eq!((failure.code, failure.phase), (FailureCode::ConnectionLost, Phase::Tls));
    assert_eq!(failure.peer, Some(silent.addr));
}

#[tokio::test]
async fn body_without_tls_close_notify_keeps_the_response() {
    let authority = Authority::new();
    let acceptor = TlsAcceptor::from(Arc::new(config(authority.identity(NAME), None)));
    let receiver = Receiver::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = acceptor.accept(stream).await.unwrap();
            read_request(&mut stream).await.unwrap();
            // Without a length, the body ends with the connection. Its end is authentic only with
            // the close_notify of TLS, which is not sent here.
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhalf").await.unwrap();
            stream.flush().await.unwrap();
        }
    })
    .await;
    let client = authority.client(EgressPolicy::dev(), Local);
    let response = post(&client, &url_of(&receiver)).await.unwrap();
    assert_eq!((response.status.as_u16(), &*response.snippet), (200, &b"half"[..]));
    assert!(matches!(response.body_end, BodyEnd::Broken(_)), "{response:?}");
}

#[test]
fn roots_that_cannot_be_used_are_refused_with_their_rule() {
    let refused = |text: &str| ExtraRoots::from_pem(text.as_bytes()).unwrap_err();
    let key = KeyPair::generate().unwrap().serialize_pem();
    assert!(matches!(refused(""), ExtraRootsError::Empty));
    assert!(matches!(refused(&key), ExtraRootsError::Empty));
    let broken = "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n";
    assert!(matches!(refused(broken), ExtraRootsError::Pem(_)));
    let no_certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let good = Authority::new().0.pem();
    let mixed = refused(&format!("{good}{no_certificate}"));
    assert!(matches!(mixed, ExtraRootsError::Unusable { number: 2, .. }), "{mixed}");
    ExtraRoots::from_pem(format!("# ours\n{good}\n{key}{good}").as_bytes()).unwrap();
}
