//! TLS to a PostgreSQL server, with the checks that libpq's `sslmode` names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::PostgresError;

/// The checks of a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CertificateCheck {
    /// None: the connection is encrypted, but the server could be any.
    None,
    /// An authority of the file has signed the certificate.
    Authority(PathBuf),
    /// An authority of the file has signed the certificate for this host.
    AuthorityAndHost(PathBuf),
    /// An authority that the system trusts has signed the certificate for this host.
    System,
}

/// Prepares connections with TLS.
pub(super) fn tls(check: &CertificateCheck) -> Result<MakeRustlsConnect, PostgresError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(PostgresError::Tls)?;
    let verifier = match check {
        CertificateCheck::System => {
            let builder = builder.with_platform_verifier().map_err(PostgresError::Tls)?;
            return Ok(MakeRustlsConnect::new(builder.with_no_client_auth()));
        }
        CertificateCheck::None => Verifier { authorities: None, check_host: false, provider },
        CertificateCheck::Authority(path) => Verifier::new(path, false, provider)?,
        CertificateCheck::AuthorityAndHost(path) => Verifier::new(path, true, provider)?,
    };
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    Ok(MakeRustlsConnect::new(builder.with_no_client_auth()))
}

/// Checks certificates as libpq does.
#[derive(Debug)]
struct Verifier {
    authorities: Option<Authorities>,
    check_host: bool,
    provider: Arc<CryptoProvider>,
}

#[derive(Debug)]
struct Authorities {
    roots: RootCertStore,
    /// Certificates that the file contains. A server may use one of them itself.
    pinned: Vec<CertificateDer<'static>>,
}

impl Verifier {
    fn new(
        path: &Path,
        check_host: bool,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, PostgresError> {
        let refused = |reason: String| PostgresError::RootCert { path: path.to_owned(), reason };
        let text = std::fs::read(path).map_err(|error| refused(error.to_string()))?;
        let (mut roots, mut pinned) = (RootCertStore::empty(), Vec::new());
        for certificate in CertificateDer::pem_slice_iter(&text) {
            let certificate = certificate.map_err(|error| refused(error.to_string()))?;
            roots.add(certificate.clone()).map_err(|error| refused(error.to_string()))?;
            pinned.push(certificate);
        }
        if pinned.is_empty() {
            return Err(refused("it contains no certificate".to_owned()));
        }
        Ok(Self { authorities: Some(Authorities { roots, pinned }), check_host, provider })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        // A self-signed certificate is its own authority; the library refuses it otherwise.
        if !authorities.pinned.iter().any(|pinned| pinned == end_entity) {
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                &authorities.roots,
                intermediates,
                now,
                self.provider.signature_verification_algorithms.all,
            )?;
        }
        if self.check_host {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
