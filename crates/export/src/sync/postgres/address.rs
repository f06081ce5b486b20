//! Addresses of PostgreSQL databases.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::tls::CertificateCheck;
use crate::sync::SyncError;

/// The address of a database, and the schema to use.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(super) config: Config,
    pub(super) tls: TlsMode,
    pub(super) password_file: Option<PathBuf>,
    pub(super) schema: String,
}

/// Use of TLS: libpq's `sslmode`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    Disable,
    /// Only if the server refuses a connection without TLS.
    Allow,
    /// If the server offers it.
    Prefer(CertificateCheck),
    Require(CertificateCheck),
}

impl Address {
    pub(crate) fn set_schema(&mut self, name: &str) {
        name.clone_into(&mut self.schema);
    }

    /// Returns the first host: a name, or `localhost` for a socket of this machine.
    pub(super) fn first_host(&self) -> &str {
        match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name,
            _ => "localhost",
        }
    }

    /// Returns true if every host is a socket of this machine, for which libpq ignores `sslmode`.
    pub(super) fn is_local_socket(&self) -> bool {
        self.config.get_hostaddrs().is_empty()
            && !self.config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)))
    }
}

impl FromStr for Address {
    type Err = SyncError;

    /// Parses an address. No error repeats a part of it that could belong to a password.
    fn from_str(text: &str) -> Result<Self, SyncError> {
        let invalid = |reason: String| SyncError::Target(reason);
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let authority = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        if rest.matches('@').count() > 1 || rest[authority..].contains(['@', '#']) {
            let reason = "`@`, `/`, `?` and `#` in a user name or password must be written as \
                          `%40`, `%2F`, `%3F` and `%23`";
            return Err(invalid(reason.to_owned()));
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (mut kept, mut own) = (Vec::new(), OwnParameters::default());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if !own.take(name, value).map_err(invalid)? {
                kept.push(parameter);
            }
        }
        let text = format!("{scheme}://{place}?{}", kept.join("&"));
        let mut config: Config = text.parse().map_err(|error| invalid(parse_error(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host(default_host());
        }
        let tls = own.tls_mode().map_err(invalid)?;
        let password_file = own.password_file;
        Ok(Self { config, tls, password_file, schema: "public".to_owned() })
    }
}

/// Parameters that the client library does not know.
#[derive(Default)]
struct OwnParameters {
    ssl_mode: Option<String>,
    root_certificate: Option<String>,
    password_file: Option<PathBuf>,
}

impl OwnParameters {
    /// Takes a parameter; returns false for one of the client library. The error is a reason.
    fn take(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let value = || decode(value).ok_or_else(|| format!("invalid value for option `{name}`"));
        match name {
            "sslmode" => self.ssl_mode = Some(value()?),
            "sslrootcert" => self.root_certificate = Some(value()?),
            "passfile" => self.password_file = Some(value()?.into()),
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tls_mode(&self) -> Result<TlsMode, String> {
        let is_system = self.root_certificate.as_deref() == Some("system");
        let default = || std::env::home_dir().map(|home| home.join(".postgresql/root.crt"));
        let named = self.root_certificate.as_ref().filter(|_| !is_system).map(PathBuf::from);
        let file = named.or_else(|| default().filter(|path| !is_system && path.exists()));
        let authority = file.clone().map_or(CertificateCheck::None, CertificateCheck::Authority);
        let mode = self.ssl_mode.as_deref();
        match mode.unwrap_or(if is_system { "verify-full" } else { "prefer" }) {
            "verify-full" => Ok(TlsMode::Require(
                file.map_or(CertificateCheck::System, CertificateCheck::AuthorityAndHost),
            )),
            mode if is_system => {
                Err(format!("`sslrootcert=system` needs `sslmode=verify-full`, not `{mode}`"))
            }
            "disable" => Ok(TlsMode::Disable),
            "allow" => Ok(TlsMode::Allow),
            "prefer" => Ok(TlsMode::Prefer(authority)),
            "verify-ca" if file.is_none() => {
                Err("`sslmode=verify-ca` needs `sslrootcert` with a file of authorities".to_owned())
            }
            "require" | "verify-ca" => Ok(TlsMode::Require(authority)),
            _ => Err("`sslmode` must be disable, allow, prefer, require, verify-ca or verify-full"
                .to_owned()),
        }
    }
}

/// Decodes `%40` and the like; `None` if the result is not text.
fn decode(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, escape)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(escape.get(..2)?, 16).ok()?);
        rest = &escape[2..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).ok()
}

/// Returns the reason why the client library refuses an address. It names a parameter, but no value.
fn parse_error(error: &tokio_postgres::Error) -> String {
    let reason = error.source().map(ToString::to_string).filter(|reason| {
        reason.starts_with("unknown option") || reason.starts_with("invalid value")
    });
    reason.unwrap_or_else(|| "it must be like `postgres://user@host/database`".to_owned())
}

/// Returns the host of an address without one, as libpq chooses it.
fn default_host() -> String {
    let socket = ["/var/run/postgresql", "/tmp"]
        .into_iter()
        .find(|folder| std::path::Path::new(folder).join(".s.PGSQL.5432").exists());
    std::env::var("PGHOST").ok().or(socket.map(str::to_owned)).unwrap_or("localhost".to_owned())
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

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
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
        use CertificateCheck::{Authority, AuthorityAndHost, None, System};
        use TlsMode::{Disable, Prefer, Require};
        let tls = |query: &str| parse(&format!("postgres://h/d?{query}")).map(|found| found.tls);
        assert_eq!(tls("sslmode=disable"), Ok(Disable));
        assert_eq!(tls("sslmode=allow"), Ok(TlsMode::Allow));
        assert_eq!(tls("sslmode=prefer"), Ok(Prefer(None)));
        assert_eq!(tls("sslmode=require"), Ok(Require(None)));
        let file = || PathBuf::from("/a b");
        assert_eq!(tls("sslmode=require&sslrootcert=%2Fa%20b"), Ok(Require(Authority(file()))));
        assert_eq!(tls("sslmode=verify-ca&sslrootcert=/a%20b"), Ok(Require(Authority(file()))));
        let full = tls("sslrootcert=/a%20b&sslmode=verify-full");
        assert_eq!(full, Ok(Require(AuthorityAndHost(file()))));
        assert_eq!(tls("sslmode=verify-full"), Ok(Require(System)));
        assert_eq!(tls("sslrootcert=system"), Ok(Require(System)));
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
