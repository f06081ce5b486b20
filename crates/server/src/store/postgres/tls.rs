//! TLS to a database that asks for it, or whose address does: rustls, trusting whom the
//! system trusts, or whom the address names.

use std::error::Error;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

use super::OpenError;
use crate::store::StoreError;

/// What connects with TLS.
#[derive(Clone)]
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Trusts the authorities of a PEM file and no others, or those of the system.
    pub(super) fn new(roots: Option<&Path>) -> Result<Self, OpenError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(OpenError::Tls)?;
        let config = match roots {
            Some(path) => builder.with_root_certificates(authorities(path)?),
            None => builder.with_platform_verifier().map_err(OpenError::Tls)?,
        };
        Ok(Self(TlsConnector::from(Arc::new(config.with_no_client_auth()))))
    }
}

/// The authorities in a PEM file.
fn authorities(path: &Path) -> Result<RootCertStore, OpenError> {
    let refused = |source: Box<dyn Error + Send + Sync>| OpenError::RootCert {
        path: path.to_owned(),
        source,
    };
    let text = std::fs::read(path).map_err(|error| refused(error.into()))?;
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| refused(error.into()))?;
        store.add(certificate).map_err(|error| refused(error.into()))?;
    }
    if store.is_empty() {
        return Err(refused("there is no certificate in it".into()));
    }
    Ok(store)
}

/// What TLS failed with, if it was that, and not the connection's own failure.
pub(super) fn failure(error: &StoreError) -> Option<&rustls::Error> {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

/// Whether the certificate is one of an authority, which the verifier has no plain words for: such are made
/// by whoever signs a certificate with itself.
pub(super) fn is_of_authority(error: &rustls::Error) -> bool {
    format!("{error:?}").contains("CaUsedAsEndEntity")
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = ToHost;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<ToHost> {
        // A socket of this machine has no name, and is not asked for TLS.
        let name = if host.is_empty() { "localhost" } else { host };
        let name = ServerName::try_from(name.to_owned());
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(ToHost { name, connector: self.0.clone() })
    }
}

/// What connects to one host.
pub(super) struct ToHost {
    name: ServerName<'static>,
    connector: TlsConnector,
}

impl TlsConnect<Socket> for ToHost {
    type Stream = Stream;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Stream>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { Ok(Stream(self.connector.connect(self.name, socket).await?)) })
    }
}

/// An encrypted connection.
pub(super) struct Stream(tokio_rustls::client::TlsStream<Socket>);

impl tokio_postgres::tls::TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
