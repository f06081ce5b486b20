//! TLS: rustls with ring; certificates are judged by the platform's store, and by those given. The
//! provider is handed over here; a process-wide default is neither needed nor installed.

use std::io;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

/// Text that holds no certificates to trust.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificatesError {
    /// Not PEM.
    #[error("the certificates cannot be read as PEM")]
    Pem(#[source] pem::Error),
    /// PEM, but of something else, or nothing.
    #[error("there is no certificate (`-----BEGIN CERTIFICATE-----`) in it")]
    Empty,
    /// A certificate that is none.
    #[error("certificate {number} of the file cannot be used")]
    Unusable {
        /// Counted from 1.
        number: usize,
        /// Why.
        #[source]
        source: Error,
    },
}

/// The TLS side of connections; made when the first of them needs it, since reading the platform's
/// certificates takes milliseconds, and most receivers under test speak plain HTTP.
pub(super) struct Tls {
    trust: Trust,
    connector: OnceCell<TlsConnector>,
}

/// Whom to trust besides those whom the platform does.
#[derive(Clone, Debug)]
enum Trust {
    These(Vec<CertificateDer<'static>>),
    Everybody,
}

impl Tls {
    pub(super) fn new(pem: Option<&[u8]>, insecure: bool) -> Result<Self, CertificatesError> {
        // Read even where nothing is refused: a file that is none is a mistake either way.
        let these = pem.map_or(Ok(Vec::new()), certificates)?;
        let trust = if insecure { Trust::Everybody } else { Trust::These(these) };
        Ok(Self { trust, connector: OnceCell::new() })
    }

    /// The connector. What failed is tried again for the next connection.
    pub(super) async fn connector(&self) -> io::Result<&TlsConnector> {
        let make = || async {
            let trust = self.trust.clone();
            let config = tokio::task::spawn_blocking(move || config(trust));
            let config = config.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
            Ok(TlsConnector::from(Arc::new(config)))
        };
        self.connector.get_or_try_init(make).await
    }
}

fn certificates(text: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    let found = found.map_err(CertificatesError::Pem)?;
    if found.is_empty() {
        return Err(CertificatesError::Empty);
    }
    let mut store = RootCertStore::empty();
    for (at, certificate) in found.iter().enumerate() {
        let unusable = |source| CertificatesError::Unusable { number: at + 1, source };
        store.add(certificate.clone()).map_err(unusable)?;
    }
    Ok(found)
}

fn config(trust: Trust) -> Result<ClientConfig, Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Everybody => Arc::new(TrustsEverybody(Arc::clone(&provider))),
        Trust::These(these) => Arc::new(TrustsThese {
            platform: Verifier::new_with_extra_roots(these.clone(), Arc::clone(&provider))?,
            these,
        }),
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Trusts whom the platform trusts, authorities that were given, and certificates that were given.
#[derive(Debug)]
struct TrustsThese {
    platform: Verifier,
    these: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for TrustsThese {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let judged = self.platform.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match judged {
            // One that was given is trusted to be its own: `openssl req -x509` makes an authority's,
            // which no server may present by the rules. Its name and time count all the same.
            Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            )) if self.these.contains(end_entity) => {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.platform.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.platform.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.platform.supported_verify_schemes()
    }
}

/// Takes every certificate. That whoever presents it has its key is still checked.
#[derive(Debug)]
struct TrustsEverybody(Arc<CryptoProvider>);

impl ServerCertVerifier for TrustsEverybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Whether an error of a connection was TLS's, and not the connection's own.
pub(super) fn is_of_tls(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<Error>())
}
