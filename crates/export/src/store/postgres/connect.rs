//! Connections to a PostgreSQL database.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;

use super::address::Address;
use super::passwords::{find_password, password_file, read_password_file};
use super::session::Session;
use super::tables::{Access, check};
use super::tls::{TlsMode, tls};
use crate::error::{PostgresError, causes};

/// Time for one host, TLS and the password included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without an acknowledgement after which a connection is lost.
const LOST_AFTER: Duration = Duration::from_secs(30);

impl Address {
    /// Checks that the database can be read. Returns remarks about the password file.
    pub(crate) async fn check(&self) -> Result<Vec<String>, PostgresError> {
        let mut warnings = Vec::new();
        let session = Session::open(self, &mut warnings).await?;
        session.begin().await?;
        check(&session, Access::Read).await?;
        Ok(warnings)
    }
}

impl Session {
    /// Connects. Adds remarks about the password file to `warnings`.
    pub(super) async fn open(
        address: &Address,
        warnings: &mut Vec<String>,
    ) -> Result<Self, PostgresError> {
        let mut config = address.config.clone();
        if config.get_password().is_none()
            && let Some(password) = password(address, warnings)
        {
            config.password(password);
        }
        if config.get_application_name().is_none() {
            config.application_name("formsvc");
        }
        // The library limits the socket only: a server that accepts it and is silent needs a limit too.
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        let limit = config.get_connect_timeout().copied().unwrap_or(CONNECT_TIMEOUT);
        config.connect_timeout(limit);
        let limit = limit * u32::try_from(hosts).unwrap_or(1);
        config.keepalives_idle(LOST_AFTER).tcp_user_timeout(LOST_AFTER);
        let mut failed = None;
        for mode in address.tls_modes() {
            let is_plain = *mode == TlsMode::Disable;
            config.ssl_mode(if is_plain { SslMode::Disable } else { SslMode::Require });
            let Ok(connected) = timeout(limit, config.connect(tls(mode)?)).await else {
                return Err(PostgresError::Connect(format!(
                    "it did not answer within {} s (`connect_timeout` in its URL)",
                    limit.as_secs()
                )));
            };
            match connected {
                Ok((client, connection)) => {
                    // Ends with the client; its errors are those of the client's requests.
                    tokio::spawn(connection);
                    return Ok(Self { client, schema: address.schema.clone() });
                }
                // The first error is the one of the preferred mode, which the server may not have.
                Err(error) => {
                    let is_final = !permits_other_mode(&error);
                    if failed.as_ref().is_none_or(lacks_tls) {
                        failed = Some(error);
                    }
                    if is_final {
                        break;
                    }
                }
            }
        }
        Err(PostgresError::connect(&failed.expect("there is at least one mode")))
    }
}

/// Returns true if the server does not support TLS.
fn lacks_tls(error: &tokio_postgres::Error) -> bool {
    // The library has no kind for it.
    causes(error).any(|cause| format!("{cause}").contains("server does not support TLS"))
}

/// Returns true if another mode of TLS may succeed: the server refuses this one, or TLS failed.
fn permits_other_mode(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        // The library has no kind for a failure of TLS.
        None => format!("{error}").contains("TLS"),
    }
}

/// Returns the password from the environment or from the password file.
fn password(address: &Address, warnings: &mut Vec<String>) -> Option<String> {
    if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|text| !text.is_empty()) {
        return Some(password);
    }
    let path = password_file(address.password_file.as_deref())?;
    let text = read_password_file(&path).unwrap_or_else(|warning| {
        warnings.push(warning);
        String::new()
    });
    let system_user = std::env::var("USER").unwrap_or_default();
    let user = address.config.get_user().unwrap_or(&system_user);
    let port = address.config.get_ports().first().copied().unwrap_or(5432).to_string();
    let database = address.config.get_dbname().unwrap_or(user);
    find_password(&text, [address.first_host(), &port, database, user])
}
