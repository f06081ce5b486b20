//! Converts errors of proxy and TLS settings, and gives hints for failed connections.

use formsvc_client::network::{ConnectFailureKind, NetworkError};

use super::CliError;

impl From<NetworkError> for CliError {
    fn from(error: NetworkError) -> Self {
        let hint = error.hint().unwrap_or_default();
        Self::usage(error.to_string()).because_of(&error).hint(hint)
    }
}

/// Returns the hint for a failed connection.
pub(crate) fn hint(kind: ConnectFailureKind) -> Option<&'static str> {
    use ConnectFailureKind as K;
    Some(match kind {
        K::Dns => "check the spelling of the host and the network",
        K::Refused => "check the address and that the service runs",
        K::Timeout | K::Unreachable => "check the address and the network",
        K::ProxyUnreachable => "check the address of the proxy, or list the host in NO_PROXY",
        K::ProxyAuth => {
            "set user name and password in the variable: scheme://user:password@host:port, with special \
             characters percent-encoded"
        }
        K::ProxyRefused => {
            "`formsvc doctor` shows the response of the proxy; hosts in NO_PROXY are reached directly"
        }
        K::UnknownIssuer => {
            "if the issuer is to be trusted, name the file of its certificate with `--cacert FILE` or \
             FORMSVC_CACERT"
        }
        K::SelfSigned => {
            "trust exactly this certificate with `--cacert FILE`, or the authority that signs the \
             certificate of the server"
        }
        K::Expired => "renew the certificate, or correct the clock of this machine",
        K::NotYetValid => "correct the clock of this machine",
        K::WrongHostName => "use a host name that the certificate is for",
        K::BadCertificate => "replace the certificate of the server",
        K::NotTls => "check scheme and port: a server without TLS has an http:// address",
        K::TrustStore => "install certificates (package ca-certificates), or set SSL_CERT_FILE",
        _ => return None,
    })
}
