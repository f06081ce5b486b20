//! TLS by rustls with ring. The crypto provider is passed explicitly; no process-wide default is
//! installed.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, OtherError, SignatureScheme,
};

use super::error::NetworkError;
use super::trust::TrustStore;

/// The certificate that identifies the client to a server (mutual TLS): a chain and its private key,
/// which the Debug output does not contain.
pub(super) struct ClientIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl ClientIdentity {
    pub(super) fn parse(pem: &[u8]) -> Result<Self, NetworkError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let chain = chain.map_err(|error| Self::refuse("is not valid PEM").because(error))?;
        if chain.is_empty() {
            return Err(Self::refuse("contains no certificate"));
        }
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|error| Self::refuse("contains no usable private key").because(error))?;
        Ok(Self { chain, key })
    }

    fn refuse(rule: &str) -> NetworkError {
        NetworkError::setting("client_identity", rule)
            .with_hint("concatenate the PEM files of the certificate and of its private key")
    }
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity")
            .field("certificates", &self.chain.len())
            .finish_non_exhaustive()
    }
}

/// The TLS configuration of the client: the trust store, and the client certificate if there is
/// one.
pub(super) fn client_config(
    trust: &Arc<TrustStore>,
    identity: Option<&ClientIdentity>,
) -> Result<ClientConfig, NetworkError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = TrustVerifier { trust: Arc::clone(trust), provider: Arc::clone(&provider) };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| NetworkError::new("TLS cannot be set up").because(error))?;
    let builder = builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier));
    match identity {
        Some(ClientIdentity { chain, key }) => builder
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| ClientIdentity::refuse("cannot be used").because(error)),
        None => Ok(builder.with_no_client_auth()),
    }
}

/// Verifies server certificates against a trust store. Loads the store at the first handshake
/// unless it is already loaded.
#[derive(Debug)]
struct TrustVerifier {
    trust: Arc<TrustStore>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for TrustVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.trust.is_insecure {
            return Ok(ServerCertVerified::assertion());
        }
        let roots = self.trust.load().map_err(|error| Error::Other(OtherError(Arc::new(error))))?;
        let verified =
            roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        match verified {
            // `openssl req -x509` creates a CA certificate, which rustls refuses as the certificate
            // of a server. It is accepted if a setting names exactly this certificate. rustls
            // checks the validity period before it returns this error; the host name is checked
            // here, and the handshake's signature proves that the server has the key.
            Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            )) if self.trust.contains(end_entity) => {
                if !self.trust.accepts_any_host {
                    verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                }
                Ok(ServerCertVerified::assertion())
            }
            // rustls verifies the chain before the host name.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.trust.accepts_any_host => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
