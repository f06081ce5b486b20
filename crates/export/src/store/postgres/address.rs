//! Addresses of PostgreSQL databases.

use std::collections::HashMap;
use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};

use super::tls::CertificateCheck;
use crate::error::SyncError;

/// Parameters of libpq that the client library does not know.
const OWN_PARAMETERS: [&str; 3] = ["sslmode", "sslrootcert", "passfile"];

/// An attempt to connect: with or without TLS, and the check of the server's certificate.
type TlsAttempt = (SslMode, CertificateCheck);

const PLAIN: TlsAttempt = (SslMode::Disable, CertificateCheck::Skip);

/// The address of a database, and the schema to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) config: Config,
    tls_attempts: Vec<TlsAttempt>,
    pub(super) password_file: Option<PathBuf>,
    pub(crate) schema: String,
}

impl Address {
    /// Returns the first host: a name, or `localhost` for a socket of this machine.
    pub(super) fn first_host(&self) -> &str {
        match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name,
            _ => "localhost",
        }
    }

    /// Returns the kinds of connections to try, in order. As in libpq, sockets of this machine have no
    /// TLS.
    pub(super) fn tls_attempts(&self) -> &[TlsAttempt] {
        let is_network = |host: &Host| matches!(host, Host::Tcp(_));
        if self.config.get_hostaddrs().is_empty() && !self.config.get_hosts().iter().any(is_network)
        {
            return &[PLAIN];
        }
        &self.tls_attempts
    }
}

impl FromStr for Address {
    type Err = SyncError;

    /// Parses an address. No error repeats a part of it that could belong to a password.
    fn from_str(text: &str) -> Result<Self, SyncError> {
        let (_, rest) = text.split_once("://").unwrap_or_default();
        let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        if rest.matches('@').count() > 1 || rest[authority..].contains(['@', '#']) {
            let reason = "`@`, `/`, `?` and `#` in a user name or password must be written as \
                          `%40`, `%2F`, `%3F` and `%23`";
            return Err(SyncError::Target(reason.to_owned()));
        }
        let (place, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut kept, mut own) = (Vec::new(), HashMap::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if OWN_PARAMETERS.contains(&name) {
                own.insert(name, percent_decode_str(value).decode_utf8_lossy().into_owned());
            } else {
                kept.push(parameter);
            }
        }
        let config = format!("{place}?{}", kept.join("&")).parse::<Config>();
        let mut config = config.map_err(|error| SyncError::Target(parse_error(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host(std::env::var("PGHOST").unwrap_or("localhost".to_owned()));
        }
        let negotiation = config.get_ssl_negotiation();
        let attempts = tls_attempts(own.get("sslmode"), own.get("sslrootcert"), negotiation);
        let tls_attempts = attempts.map_err(|reason| SyncError::Target(reason.to_owned()))?;
        let password_file = own.remove("passfile").map(PathBuf::from);
        Ok(Self { config, tls_attempts, password_file, schema: "public".to_owned() })
    }
}

/// Returns the kinds of connections to try for `sslmode` and `sslrootcert`. The error is a reason.
fn tls_attempts(
    mode: Option<&String>,
    root_certificate: Option<&String>,
    negotiation: SslNegotiation,
) -> Result<Vec<TlsAttempt>, &'static str> {
    use CertificateCheck::{Authority, AuthorityAndHost, Skip, System};
    let is_system = root_certificate.is_some_and(|path| path == "system");
    let default = || Some(std::env::home_dir()?.join(".postgresql/root.crt"));
    let file = match root_certificate {
        Some(path) => Some(PathBuf::from(path)).filter(|_| !is_system),
        None => default().filter(|path| path.exists()),
    };
    let has_file = file.is_some();
    let checked = file.clone().map_or(Skip, Authority);
    let attempts = match mode.map_or(if is_system { "verify-full" } else { "prefer" }, |mode| mode)
    {
        "verify-full" => vec![(SslMode::Require, file.map_or(System, AuthorityAndHost))],
        _ if is_system => return Err("`sslrootcert=system` needs `sslmode=verify-full`"),
        "disable" => vec![PLAIN],
        "allow" => vec![PLAIN, (SslMode::Require, Skip)],
        "prefer" => vec![(SslMode::Prefer, checked), PLAIN],
        "verify-ca" if !has_file => {
            return Err("`sslmode=verify-ca` needs `sslrootcert` with a file of authorities");
        }
        "require" | "verify-ca" => vec![(SslMode::Require, checked)],
        _ => {
            let modes =
                "`sslmode` must be disable, allow, prefer, require, verify-ca or verify-full";
            return Err(modes);
        }
    };
    if negotiation == SslNegotiation::Direct && attempts.contains(&PLAIN) {
        return Err("`sslnegotiation=direct` needs `sslmode=require` or a stricter one");
    }
    Ok(attempts)
}

/// Returns the reason why the client library refuses an address. It names a parameter, but no value.
fn parse_error(error: &tokio_postgres::Error) -> String {
    let reason = error.source().map(ToString::to_string).filter(|reason| {
        reason.starts_with("unknown option") || reason.starts_with("invalid value")
    });
    reason.unwrap_or_else(|| "it must be like `postgres://user@host/database`".to_owned())
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}", self.first_host())?;
        if let Some(port) = self.config.get_ports().first() {
            write!(f, ":{port}")?;
        }
        write!(f, "/{}", self.config.get_dbname().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address, String> {
        text.parse::<Address>().map_err(|error| error.to_string())
    }

    #[test]
    fn tls_modes_are_those_of_libpq() {
        use CertificateCheck::{Authority, AuthorityAndHost, Skip, System};
        use SslMode::{Prefer, Require};
        let parse = |query: &str| parse(&format!("postgres://h/d?{query}"));
        let tls = |query: &str| parse(query).map(|found| found.tls_attempts().to_vec());
        assert_eq!(tls("sslmode=disable"), Ok(vec![PLAIN]));
        assert_eq!(tls("sslmode=allow"), Ok(vec![PLAIN, (Require, Skip)]));
        assert_eq!(tls("sslmode=prefer"), Ok(vec![(Prefer, Skip), PLAIN]));
        assert_eq!(tls(""), Ok(vec![(Prefer, Skip), PLAIN]));
        assert_eq!(tls("sslmode=require"), Ok(vec![(Require, Skip)]));
        let authority = || Ok(vec![(Require, Authority(PathBuf::from("/a b")))]);
        assert_eq!(tls("sslmode=require&sslrootcert=%2Fa%20b"), authority());
        assert_eq!(tls("sslmode=verify-ca&sslrootcert=/a%20b"), authority());
        let full = tls("sslrootcert=/a%20b&sslmode=verify-full");
        assert_eq!(full, Ok(vec![(Require, AuthorityAndHost(PathBuf::from("/a b")))]));
        assert_eq!(tls("sslmode=verify-full"), Ok(vec![(Require, System)]));
        assert_eq!(tls("sslrootcert=system"), Ok(vec![(Require, System)]));
        assert!(tls("sslnegotiation=direct").unwrap_err().contains("sslmode=require"));
        assert_eq!(tls("sslnegotiation=direct&sslmode=require"), Ok(vec![(Require, Skip)]));
        assert_eq!(tls("sslmode=require&host=%2Ftmp").unwrap().len(), 1);
        assert!(tls("sslmode=require&sslrootcert=system").unwrap_err().contains("verify-full"));
        assert!(tls("sslmode=verify-ca").unwrap_err().contains("sslrootcert"));
        assert!(tls("sslmode=hunter2").unwrap_err().contains("verify-full"));
    }

    #[test]
    fn no_error_and_no_output_shows_a_password() {
        for address in [
            "postgres://me:hun@ter2@h/d",
            "postgres://me:hun/ter2@h/d",
            "postgres://me:hun?ter2@h/d",
            "postgres://me:hun#ter2@h/d",
            "postgres://me:ter2@h:port/d",
            "postgres://me:ter2@h/d?passwort=ter2",
            "postgres://me:ter2@h/d?connect_timeout=ter2",
        ] {
            let error = parse(address).map(|_| ()).unwrap_err();
            assert!(!error.contains("ter2") && !error.contains("hun"), "{error}");
        }
        let address = parse("postgresql://me:hun%40ter2@h:5433/d?sslmode=disable").unwrap();
        assert_eq!(address.config.get_password(), Some("hun@ter2".as_bytes()));
        assert_eq!(address.to_string(), "postgres://h:5433/d");
        let unknown = parse("postgres://h/d?foo=1").map(|_| ()).unwrap_err();
        assert!(unknown.contains("`foo`"), "{unknown}");
    }
}
