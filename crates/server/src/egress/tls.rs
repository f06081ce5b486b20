//! TLS: rustls with ring, certificates judged by the platform's store, and by roots an operator adds.
//! The provider is handed over here; a process-wide default is neither needed nor installed.

use std::io;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;
use tokio_rustls::TlsConnector;

/// Certificates of authorities to trust besides those of the platform.
#[derive(Clone, Debug, Default)]
pub struct ExtraRoots(Vec<CertificateDer<'static>>);

/// Text that holds no certificates to trust.
#[derive(Debug, thiserror::Error)]
pub enum ExtraRootsError {
    /// Not PEM.
    #[error("the certificates cannot be read as PEM")]
    Pem(#[source] rustls::pki_types::pem::Error),
    /// PEM, but of something else.
    #[error("there is no certificate (`-----BEGIN CERTIFICATE-----`) in it")]
    Empty,
    /// A certificate that is none.
    #[error("certificate {number} cannot be used")]
    Unusable {
        /// Counted from 1.
        number: usize,
        /// Why.
        #[source]
        source: rustls::Error,
    },
}

impl ExtraRoots {
    /// The certificates of a PEM file; whatever else is in it is read over.
    pub fn from_pem(text: &[u8]) -> Result<Self, ExtraRootsError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
        let found = found.map_err(ExtraRootsError::Pem)?;
        if found.is_empty() {
            return Err(ExtraRootsError::Empty);
        }
        let mut store = RootCertStore::empty();
        for (at, certificate) in found.iter().enumerate() {
            let unusable = |source| ExtraRootsError::Unusable { number: at + 1, source };
            store.add(certificate.clone()).map_err(unusable)?;
        }
        Ok(Self(found))
    }
}

/// The TLS side of connections; made when the first of them needs it, since reading the platform's
/// certificates takes milliseconds, and a machine may have none and need none.
pub(super) struct Tls {
    extra: ExtraRoots,
    connector: OnceCell<TlsConnector>,
}

impl Tls {
    pub(super) fn new(extra: ExtraRoots) -> Self {
        Self { extra, connector: OnceCell::new() }
    }

    /// The connector. What failed is tried again for the next connection.
    pub(super) async fn connector(&self) -> io::Result<&TlsConnector> {
        let make = || async {
            let extra = self.extra.clone();
            let config = tokio::task::spawn_blocking(move || config(extra));
            let config = config.await.map_err(io::Error::other)?.map_err(io::Error::other)?;
            Ok(TlsConnector::from(Arc::new(config)))
        };
        self.connector.get_or_try_init(make).await
    }
}

fn config(extra: ExtraRoots) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new_with_extra_roots(extra.0, Arc::clone(&provider))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Whether an error of a connection was TLS's, and not the connection's own.
pub(super) fn is_of_tls(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(inner) if inner.is::<rustls::Error>())
}
