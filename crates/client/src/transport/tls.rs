//! TLS: rustls with ring, certificates judged by the platform's store. The provider is handed over
//! here; a process-wide default is neither needed nor installed.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

/// The configuration for one base address.
///
/// A plain loopback address never uses TLS, so it need not read the platform's certificates, which
/// takes milliseconds; it trusts nobody instead.
pub(super) fn config(used: bool) -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    let builder = if used {
        builder.with_platform_verifier()?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    Ok(builder.with_no_client_auth())
}
