//! The trust store: the certificates of authorities and servers that are trusted.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls_platform_verifier::Verifier;

use super::error::NetworkError;

const FILE: &str = "SSL_CERT_FILE";
const DIR: &str = "SSL_CERT_DIR";
const PEM_HINT: &str = "a PEM file contains -----BEGIN CERTIFICATE-----";
/// Largest size of a certificate file in bytes: several times the size of a system's bundle.
const FILE_MAX: u64 = 8 << 20;

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
struct Certificates {
    origin: CertificateOrigin,
    certificates: Vec<CertificateDer<'static>>,
}

/// The certificates to trust. Files of settings are read at once. The system's certificates are
/// loaded at the first use, because that takes milliseconds and plain HTTP does not need them.
#[derive(Debug)]
pub(super) struct TrustStore {
    /// Used instead of the system's certificates; empty if the system's are used.
    replacements: Vec<Certificates>,
    /// Trusted in addition.
    additions: Vec<Certificates>,
    /// True if any certificate is accepted.
    is_insecure: bool,
    verifier: OnceLock<Arc<dyn ServerCertVerifier>>,
}

impl TrustStore {
    fn new(replacements: Vec<Certificates>, additions: Vec<Certificates>, insecure: bool) -> Self {
        Self { replacements, additions, is_insecure: insecure, verifier: OnceLock::new() }
    }

    pub(super) fn system() -> Self {
        Self::new(Vec::new(), Vec::new(), false)
    }

    pub(super) fn from_vars(
        lookup: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Self, NetworkError> {
        let mut replacements = Vec::new();
        if let Some(file) = lookup(FILE) {
            let origin = CertificateOrigin { setting: FILE, path: PathBuf::from(file) };
            replacements.push(parse(&read_setting(&origin)?, origin)?);
        }
        if let Some(dirs) = lookup(DIR) {
            let mut any = false;
            for path in std::env::split_paths(&dirs) {
                let certificates =
                    read_dir(&path).map_err(|error| unreadable(DIR, &path, error))?;
                if !certificates.is_empty() {
                    let origin = CertificateOrigin { setting: DIR, path };
                    replacements.push(Certificates { origin, certificates });
                    any = true;
                }
            }
            if !any {
                let dirs = PathBuf::from(dirs);
                return Err(NetworkError::setting(
                    DIR,
                    format!("names `{}`, which contains no certificate", dirs.display()),
                )
                .with_hint(PEM_HINT));
            }
        }
        Ok(Self::new(replacements, Vec::new(), false))
    }

    pub(super) fn with_roots(
        &self,
        pem: &[u8],
        origin: CertificateOrigin,
    ) -> Result<Self, NetworkError> {
        let mut additions = self.additions.clone();
        additions.push(parse(pem, origin)?);
        Ok(Self::new(self.replacements.clone(), additions, self.is_insecure))
    }

    pub(super) fn with_insecure(&self, insecure: bool) -> Self {
        Self::new(self.replacements.clone(), self.additions.clone(), insecure)
    }

    pub(super) fn is_insecure(&self) -> bool {
        self.is_insecure
    }

    /// Returns true if a setting names exactly this certificate.
    pub(super) fn contains(&self, certificate: &CertificateDer<'_>) -> bool {
        let all = self.replacements.iter().chain(&self.additions);
        all.flat_map(|listed| &listed.certificates).any(|listed| listed == certificate)
    }

    /// Returns the verifier of certificate chains; loads the certificates at the first call. After
    /// a failure, the next call tries again.
    pub(super) fn load(&self) -> Result<&Arc<dyn ServerCertVerifier>, NetworkError> {
        if let Some(verifier) = self.verifier.get() {
            return Ok(verifier);
        }
        let unusable = |error: rustls::Error| {
            NetworkError::new("the trusted certificates cannot be loaded").because(error)
        };
        let verifier = self.verifier().map_err(unusable)?;
        Ok(self.verifier.get_or_init(|| verifier))
    }

    fn verifier(&self) -> Result<Arc<dyn ServerCertVerifier>, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let additions = self.additions.iter().flat_map(|listed| listed.certificates.clone());
        if self.replacements.is_empty() {
            return Ok(Arc::new(Verifier::new_with_extra_roots(additions, provider)?));
        }
        let replacements = self.replacements.iter().flat_map(|listed| listed.certificates.clone());
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(replacements.chain(additions));
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
            .build()
            .map(|verifier| verifier as Arc<dyn ServerCertVerifier>)
            .map_err(|error| rustls::Error::General(error.to_string()))
    }
}

impl fmt::Display for TrustStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_insecure {
            return f.write_str("any certificate is accepted");
        }
        if self.replacements.is_empty() {
            f.write_str("the system's certificates")?;
        }
        for (at, listed) in self.replacements.iter().chain(&self.additions).enumerate() {
            if at > 0 || self.replacements.is_empty() {
                f.write_str(", and ")?;
            }
            let (count, origin) = (listed.certificates.len(), &listed.origin);
            let plural = if count == 1 { "" } else { "s" };
            write!(f, "{count} certificate{plural} of ")?;
            if !origin.path.as_os_str().is_empty() {
                write!(f, "`{}` ", origin.path.display())?;
            }
            write!(f, "({})", origin.setting)?;
        }
        Ok(())
    }
}

/// Reads a regular file; a pipe or a device might never end.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    if metadata.len() > FILE_MAX {
        let rule = format!("longer than {} MiB", FILE_MAX >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
    }
    fs::read(path)
}

/// Reads the certificates of every PEM file in a directory. Skips files that cannot be read or
/// parsed.
fn read_dir(path: &Path) -> io::Result<Vec<CertificateDer<'static>>> {
    let mut certificates = Vec::new();
    for entry in fs::read_dir(path)? {
        if let Ok(pem) = read(&entry?.path()) {
            certificates.extend(CertificateDer::pem_slice_iter(&pem).flatten());
        }
    }
    // `openssl rehash` adds symbolic links, so most certificates are found twice.
    certificates.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
    certificates.dedup();
    Ok(certificates)
}

/// Reads the file that a setting names.
pub(super) fn read_setting(origin: &CertificateOrigin) -> Result<Vec<u8>, NetworkError> {
    read(&origin.path).map_err(|error| unreadable(origin.setting, &origin.path, error))
}

fn unreadable(setting: &'static str, path: &Path, error: io::Error) -> NetworkError {
    NetworkError::setting(setting, format!("names `{}`, which cannot be read", path.display()))
        .because(error)
}

fn parse(pem: &[u8], origin: CertificateOrigin) -> Result<Certificates, NetworkError> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates
        .map_err(|error| origin.refuse("is not valid PEM").with_hint(PEM_HINT).because(error))?;
    if certificates.is_empty() {
        return Err(origin.refuse("contains no certificate").with_hint(PEM_HINT));
    }
    let (added, _) = RootCertStore::empty().add_parsable_certificates(certificates.iter().cloned());
    if added == 0 {
        return Err(origin.refuse("contains no usable certificate"));
    }
    Ok(Certificates { origin, certificates })
}
