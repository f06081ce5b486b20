//! TLS to a PostgreSQL server, with the checks that libpq's `sslmode` names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::CertificateError::{Other, UnknownIssuer};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::PostgresError;

/// A kind of connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    /// Without TLS.
    Disable,
    /// TLS; the server could be any.
    Unchecked,
    /// An authority of the file has signed the certificate.
    Authority(PathBuf),
    /// An authority of the file has signed the certificate for this host.
    AuthorityAndHost(PathBuf),
    /// An authority that the system trusts has signed the certificate for this host.
    System,
}

/// Prepares connections with TLS.
pub(super) fn tls(mode: &TlsMode) -> Result<MakeRustlsConnect, PostgresError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(PostgresError::Tls)?;
    let authorities = match mode {
        TlsMode::System => {
            let builder = builder.with_platform_verifier().map_err(PostgresError::Tls)?;
            return Ok(MakeRustlsConnect::new(builder.with_no_client_auth()));
        }
        TlsMode::Disable | TlsMode::Unchecked => None,
        TlsMode::Authority(path) | TlsMode::AuthorityAndHost(path) => {
            let refused = |reason| PostgresError::RootCert { path: path.clone(), reason };
            Some(read_authorities(path).map_err(refused)?)
        }
    };
    let check_host = matches!(mode, TlsMode::AuthorityAndHost(_));
    let verifier = Verifier { authorities, check_host, provider };
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

/// Reads a file of certificates. The error is a reason.
fn read_authorities(path: &Path) -> Result<Authorities, String> {
    let pinned = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| error.to_string())?;
    let mut roots = RootCertStore::empty();
    for certificate in &pinned {
        roots.add(certificate.clone()).map_err(|error| error.to_string())?;
    }
    if pinned.is_empty() {
        return Err("it contains no certificate".to_owned());
    }
    Ok(Authorities { roots, pinned })
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
        let verified = verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &authorities.roots,
            intermediates,
            now,
            self.provider.signature_verification_algorithms.all,
        );
        match verified {
            // A certificate of the file is its own authority. rustls refuses it as the certificate of
            // a server, but checks its validity period first.
            Err(rustls::Error::InvalidCertificate(UnknownIssuer | Other(_)))
                if authorities.pinned.iter().any(|pinned| pinned == end_entity) => {}
            verified => verified?,
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
