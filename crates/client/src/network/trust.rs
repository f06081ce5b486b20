//! The trust store: the certificates of authorities and servers that are trusted.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};

use super::error::NetworkError;
use crate::file::read_file;

const FILE: &str = "SSL_CERT_FILE";
const DIR: &str = "SSL_CERT_DIR";
const PEM_HINT: &str = "a PEM file contains -----BEGIN CERTIFICATE-----";

/// The origin of certificates: a setting, and the file or directory that it names.
#[derive(Clone, Debug)]
pub struct CertificateOrigin {
    /// The flag, variable or builder method, such as `--cacert`.
    pub setting: &'static str,
    /// The path of the file or directory; empty if the setting itself contains the certificates.
    pub path: PathBuf,
}

impl CertificateOrigin {
    /// Returns the error for certificates that break a rule.
    fn refuse(&self, rule: &str) -> NetworkError {
        if self.path.as_os_str().is_empty() {
            return NetworkError::setting(self.setting, rule);
        }
        let path = self.path.display();
        NetworkError::setting(self.setting, format!("names `{path}`, which {rule}"))
    }
}

/// The certificates of one origin; never empty.
#[derive(Clone, Debug)]
pub(super) struct Certificates {
    origin: CertificateOrigin,
    certificates: Vec<CertificateDer<'static>>,
}

impl Certificates {
    fn new(
        origin: CertificateOrigin,
        certificates: Vec<CertificateDer<'static>>,
    ) -> Result<Self, NetworkError> {
        if certificates.is_empty() {
            return Err(origin.refuse("contains no certificate").with_hint(PEM_HINT));
        }
        let mut roots = RootCertStore::empty();
        if roots.add_parsable_certificates(certificates.iter().cloned()).0 == 0 {
            return Err(origin.refuse("contains no usable certificate"));
        }
        Ok(Self { origin, certificates })
    }

    pub(super) fn parse(pem: &[u8], origin: CertificateOrigin) -> Result<Self, NetworkError> {
        match CertificateDer::pem_slice_iter(pem).collect() {
            Ok(certificates) => Self::new(origin, certificates),
            Err(error) => Err(origin.refuse("is not valid PEM").with_hint(PEM_HINT).because(error)),
        }
    }

    /// Reads the origin's file.
    pub(super) fn read(origin: CertificateOrigin) -> Result<Self, NetworkError> {
        match read_file(&origin.path) {
            Ok(pem) => Self::parse(&pem, origin),
            Err(error) => Err(origin.refuse("cannot be read").because(error)),
        }
    }

    /// Reads the PEM files of directories; one that cannot be read is an error if the others have no
    /// certificates.
    fn read_dirs(origin: CertificateOrigin) -> Result<Self, NetworkError> {
        let mut all = CertificateResult::default();
        for path in std::env::split_paths(&origin.path) {
            let found = load_certs_from_paths(None, Some(&path));
            all.certs.extend(found.certs);
            all.errors.extend(found.errors);
        }
        if let (true, Some(error)) = (all.certs.is_empty(), all.errors.pop()) {
            return Err(origin.refuse("cannot be read").because(error));
        }
        Self::new(origin, all.certs)
    }
}

/// The certificates to trust. Files of settings are read at once. The system's certificates are
/// loaded at the first use, because that takes milliseconds and plain HTTP does not need them.
#[derive(Clone, Debug, Default)]
pub(super) struct TrustStore {
    /// Used instead of the system's certificates; empty if the system's are used.
    replacements: Vec<Certificates>,
    /// Trusted in addition.
    additions: Vec<Certificates>,
    /// True if any certificate is accepted.
    pub(super) is_insecure: bool,
    /// True if a certificate may be for another host.
    pub(super) accepts_any_host: bool,
    verifier: OnceLock<Arc<WebPkiServerVerifier>>,
}

impl TrustStore {
    pub(super) fn from_vars(
        lookup: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, NetworkError> {
        let mut store = Self::default();
        let origin = |setting| match lookup(setting) {
            Some(path) if path.is_empty() => {
                Err(NetworkError::setting(setting, "is set but empty"))
            }
            path => Ok(path.map(|path| CertificateOrigin { setting, path: path.into() })),
        };
        if let Some(origin) = origin(FILE)? {
            store.replacements.push(Certificates::read(origin)?);
        }
        if let Some(origin) = origin(DIR)? {
            store.replacements.push(Certificates::read_dirs(origin)?);
        }
        Ok(store)
    }

    /// Trusts only the certificates of the origin's file.
    pub(super) fn of_file(origin: CertificateOrigin) -> Result<Self, NetworkError> {
        Ok(Self { replacements: vec![Certificates::read(origin)?], ..Self::default() })
    }

    pub(super) fn add(&mut self, addition: Certificates) {
        self.additions.push(addition);
        self.verifier = OnceLock::new();
    }

    /// Returns true if a setting names exactly this certificate.
    pub(super) fn contains(&self, certificate: &CertificateDer<'_>) -> bool {
        self.listed().any(|listed| listed == certificate)
    }

    fn listed(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        self.replacements.iter().chain(&self.additions).flat_map(|listed| &listed.certificates)
    }

    /// Returns the verifier of certificate chains; loads the certificates at the first call. After
    /// a failure, the next call tries again.
    pub(super) fn load(&self) -> Result<&Arc<WebPkiServerVerifier>, NetworkError> {
        if let Some(verifier) = self.verifier.get() {
            return Ok(verifier);
        }
        let mut roots = RootCertStore::empty();
        if self.replacements.is_empty() {
            // Errors of single files do not matter: without any certificate, the builder fails.
            roots.add_parsable_certificates(load_native_certs().certs);
        }
        roots.add_parsable_certificates(self.listed().cloned());
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().map_err(|error| {
            NetworkError::new("the trusted certificates cannot be loaded").because(error)
        })?;
        Ok(self.verifier.get_or_init(|| verifier))
    }
}

impl fmt::Display for TrustStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_insecure {
            return f.write_str("any certificate is accepted");
        }
        let mut parts = Vec::new();
        if self.replacements.is_empty() {
            parts.push("the system's certificates".to_owned());
        }
        for Certificates { origin, certificates } in self.replacements.iter().chain(&self.additions)
        {
            let count = certificates.len();
            let plural = if count == 1 { "" } else { "s" };
            let path = if origin.path.as_os_str().is_empty() {
                String::new()
            } else {
                format!("`{}` ", origin.path.display())
            };
            parts.push(format!("{count} certificate{plural} of {path}({})", origin.setting));
        }
        f.write_str(&parts.join(", and "))
    }
}
