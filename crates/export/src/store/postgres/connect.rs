//! Connections to a PostgreSQL database.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::error::SqlState;

use super::address::Address;
use super::passwords::{find_password, password_file, read_password_file};
use super::session::Session;
use super::tables::{Access, check};
use super::tls::tls;
use crate::error::PostgresError;

/// Time for one host, TLS and the password included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time without an acknowledgement after which a connection is lost.
const LOST_AFTER: Duration = Duration::from_secs(30);

impl Address {
    /// Checks that the database can be read. Returns remarks about the password file.
    pub(crate) async fn check(&self) -> Result<Vec<String>, PostgresError> {
        let session = Session::open(self).await?;
        session.begin().await?;
        check(&session, Access::Read).await?;
        Ok(self.find_password().err().into_iter().collect())
    }

    /// Returns the password from the environment or from the password file, unless the address has one. The
    /// error is a remark about the file.
    fn find_password(&self) -> Result<Option<String>, String> {
        if self.config.get_password().is_some() {
            return Ok(None);
        }
        if let Some(password) = std::env::var("PGPASSWORD").ok().filter(|text| !text.is_empty()) {
            return Ok(Some(password));
        }
        let Some(path) = password_file(self.password_file.as_deref()) else { return Ok(None) };
        let text = read_password_file(&path)?;
        let system_user = std::env::var("USER").unwrap_or_default();
        let user = self.config.get_user().unwrap_or(&system_user);
        let port = self.config.get_ports().first().copied().unwrap_or(5432).to_string();
        let database = self.config.get_dbname().unwrap_or(user);
        Ok(find_password(&text, [self.first_host(), &port, database, user]))
    }
}

impl Session {
    pub(super) async fn open(address: &Address) -> Result<Self, PostgresError> {
        let mut config = address.config.clone();
        if let Ok(Some(password)) = address.find_password() {
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
        for (mode, check) in address.tls_attempts() {
            let tls = tls(check)?;
            let Ok(connected) = timeout(limit, config.ssl_mode(*mode).connect(tls)).await else {
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
                // The next attempt may succeed if the server does not accept this kind of connection, or
                // if TLS fails, which has no code.
                Err(error) => {
                    let refused = SqlState::INVALID_AUTHORIZATION_SPECIFICATION;
                    let is_final = error.code().is_some_and(|code| *code != refused);
                    failed.get_or_insert(error);
                    if is_final {
                        break;
                    }
                }
            }
        }
        Err(PostgresError::connect(&failed.expect("there is at least one attempt")))
    }
}
