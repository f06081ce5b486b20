//! Connections to a PostgreSQL database.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, TlsMode};
use super::error::PostgresError;
use super::passwords::{Login, find_password, password_file, read_password_file};
use super::tls::{CertificateCheck, tls};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time without an acknowledgement after which a connection is lost.
const LOST_AFTER: Duration = Duration::from_secs(30);
/// The setting of a session that marks it as ours.
const MARK: &str = "formsvc.session";

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) client: Client,
    /// Whether each transaction may use another session of the server: a pooler in transaction mode.
    pub(super) is_pooled: bool,
}

impl Connection {
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
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(LOST_AFTER).tcp_user_timeout(LOST_AFTER);
        let mut failed = None;
        for (mode, check) in tls_attempts(address) {
            let tls = tls(check)?;
            match connect(config.ssl_mode(mode), &tls).await {
                Ok(connection) => return Ok(connection),
                // The first error is the one of the preferred mode.
                Err(error) if failed.is_none() => failed = Some(error),
                Err(_) => {}
            }
            let is_final = failed.as_ref().is_some_and(|error| !permits_other_mode(error));
            if is_final {
                break;
            }
        }
        Err(PostgresError::connect(failed.expect("there is at least one attempt")))
    }
}

/// Returns the modes to try, in order.
fn tls_attempts(address: &Address) -> Vec<(SslMode, &CertificateCheck)> {
    const PLAIN: (SslMode, &CertificateCheck) = (SslMode::Disable, &CertificateCheck::None);
    if address.is_local_socket() {
        return vec![PLAIN];
    }
    match &address.tls {
        TlsMode::Disable => vec![PLAIN],
        TlsMode::Allow => vec![PLAIN, (SslMode::Require, &CertificateCheck::None)],
        TlsMode::Prefer(check) => vec![(SslMode::Prefer, check), PLAIN],
        TlsMode::Require(check) => vec![(SslMode::Require, check)],
    }
}

/// Returns true if another mode of TLS may succeed: the server refuses this one, or TLS failed.
fn permits_other_mode(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        Some(code) => *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        // The library has no kind for a failure of TLS.
        None => format!("{error}").contains("TLS"),
    }
}

/// Connects and finds out whether a pooler is between this process and the server.
///
/// The session is marked by a setting at its start. A pooler refuses such a setting, ignores it, or uses
/// a session that it started before, which has another mark or none.
async fn connect(
    config: &Config,
    tls: &MakeRustlsConnect,
) -> Result<Connection, tokio_postgres::Error> {
    let mark = format!("{:016x}", RandomState::new().build_hasher().finish());
    let mut marked = config.clone();
    let options = config.get_options().unwrap_or_default();
    marked.options(format!("{options} -c {MARK}={mark}").trim_start());
    let (client, is_marked) = match start(&marked, tls).await {
        Ok(client) => (client, true),
        Err(error) if refuses_options(&error) => (start(config, tls).await?, false),
        Err(error) => return Err(error),
    };
    let select = format!("SELECT coalesce(current_setting('{MARK}', true), '') = '{mark}'");
    let is_pooled = !is_marked || !client.query_typed_one(&select, &[]).await?.get::<_, bool>(0);
    Ok(Connection { client, is_pooled })
}

/// Returns true for errors about a parameter of the connection, of classes 08, 0A, 22 and 42.
fn refuses_options(error: &tokio_postgres::Error) -> bool {
    let class = error.code().and_then(|code| code.code().get(..2));
    class.is_some_and(|class| ["08", "0A", "22", "42"].contains(&class))
}

async fn start(config: &Config, tls: &MakeRustlsConnect) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(tls.clone()).await?;
    // Ends with the client; its errors are those of the client's requests.
    tokio::spawn(connection);
    Ok(client)
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
    let login = Login {
        host: address.first_host(),
        port: address.config.get_ports().first().copied().unwrap_or(5432),
        database: address.config.get_dbname().unwrap_or(user),
        user,
    };
    find_password(&text, login)
}
