//! The certificate that identifies the client to a server (mutual TLS).

use std::fmt;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::error::NetworkError;

const SETTING: &str = "client_identity";
const HINT: &str = "concatenate the PEM files of the certificate and of its private key";

/// A certificate chain and its private key. The Debug output does not contain the key.
pub(super) struct ClientIdentity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl ClientIdentity {
    pub(super) fn parse(pem: &[u8]) -> Result<Self, NetworkError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let chain = chain.map_err(|error| refuse("is not valid PEM").because(error))?;
        if chain.is_empty() {
            return Err(refuse("contains no certificate"));
        }
        let key = PrivateKeyDer::from_pem_slice(pem)
            .map_err(|error| refuse("contains no usable private key").because(error))?;
        Ok(Self { chain, key })
    }

    pub(super) fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.chain.clone(), self.key.clone_key())
    }
}

/// The error of an identity that breaks a rule.
pub(super) fn refuse(rule: &str) -> NetworkError {
    NetworkError::setting(SETTING, rule).with_hint(HINT)
}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity")
            .field("certificates", &self.chain.len())
            .finish_non_exhaustive()
    }
}
