//! TLS to a PostgreSQL server, with the checks that libpq's `sslmode` names.

use std::path::PathBuf;

use formsvc_client::network::{CertificateOrigin, NetworkSettings};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::PostgresError;

/// The check of a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CertificateCheck {
    /// None: the server could be any.
    Skip,
    /// An authority of the file has signed the certificate.
    Authority(PathBuf),
    /// An authority of the file has signed the certificate for this host.
    AuthorityAndHost(PathBuf),
    /// An authority that the system trusts has signed the certificate for this host.
    System,
}

/// Prepares connections with TLS.
pub(super) fn tls(check: &CertificateCheck) -> Result<MakeRustlsConnect, PostgresError> {
    use CertificateCheck::{Authority, AuthorityAndHost, Skip, System};
    let mut settings = match check {
        Authority(path) | AuthorityAndHost(path) => {
            let origin = CertificateOrigin { setting: "sslrootcert", path: path.clone() };
            NetworkSettings::direct_with_root_certificate_file(origin)
                .map_err(PostgresError::RootCert)?
        }
        Skip | System => NetworkSettings::direct(),
    };
    settings.danger_accept_any_certificate(*check == Skip);
    settings.danger_accept_any_host(matches!(check, Authority(_)));
    Ok(MakeRustlsConnect::new(settings.tls_config().map_err(PostgresError::Tls)?))
}
