//! Connections to the database: where it is, over TLS when it asks for that, and how long it may take.

use std::error::Error;
use std::time::Duration;

use deadpool::managed::QueueMode;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use futures_util::Stream;
use secrecy::{ExposeSecret, SecretString};
use tokio_postgres::{AsyncMessage, Client, Config};

use super::OpenError;
use super::address::{Address, Refused};
use super::tls::Tls;
use crate::store::StoreError;

/// A statement that takes longer is ended by the database.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(30);
/// A transaction in which nothing happens for so long is ended by the database: its process hangs, and
/// others wait for what it has locked.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a lock is waited for.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long bytes may be unacknowledged before a connection counts as lost.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
/// How long a caller waits for a connection when all are taken.
const WAIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Where a database is and who we are there; read from an address like
/// `postgres://user:password@host/database`.
#[derive(Clone)]
pub(super) struct Connector {
    config: Config,
    tls: Tls,
}

impl Connector {
    /// Reads the address. It may carry a password, and is in no message.
    pub(super) fn new(address: &SecretString) -> Result<Self, OpenError> {
        let address = Address::read(address.expose_secret()).map_err(|refused| match refused {
            Refused::Unreadable => OpenError::Address,
            Refused::VerifyCa => OpenError::VerifyCa,
        })?;
        let mut config: Config =
            address.text.parse().map_err(|error| unread(&address.text, &error))?;
        if config.get_hosts().is_empty() {
            return Err(OpenError::NoHost);
        }
        let millis = |time: Duration| time.as_millis();
        // What the address sets comes last, and counts.
        let own = config.get_options().unwrap_or_default();
        let options = format!(
            "-c statement_timeout={} -c idle_in_transaction_session_timeout={} -c lock_timeout={} {own}",
            millis(STATEMENT_TIMEOUT),
            millis(IDLE_TIMEOUT),
            millis(LOCK_TIMEOUT)
        );
        config.options(options.trim_end());
        if config.get_application_name().is_none() {
            config.application_name("formsvc-server");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        config.keepalives_idle(UNACKNOWLEDGED).tcp_user_timeout(UNACKNOWLEDGED);
        Ok(Self { config, tls: Tls::new(address.roots.as_deref())? })
    }

    /// A pool of so many connections, made when they are needed.
    pub(super) fn pool(&self, connections: usize) -> Result<Pool, OpenError> {
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(
            self.config.clone(),
            self.tls.clone(),
            ManagerConfig { recycling_method },
        );
        Pool::builder(manager)
            .max_size(connections)
            // What was used last is warm, here and in the database's process: few of them do the work.
            .queue_mode(QueueMode::Lifo)
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(WAIT_TIMEOUT))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .recycle_timeout(Some(CONNECT_TIMEOUT))
            .build()
            .map_err(|error| OpenError::Pool(error.to_string()))
    }

    /// A connection of its own, and what the database sends on it unasked.
    pub(super) async fn listen(
        &self,
    ) -> Result<
        (Client, impl Stream<Item = Result<AsyncMessage, tokio_postgres::Error>> + Unpin + use<>),
        StoreError,
    > {
        let (client, mut connection) = self.config.connect(self.tls.clone()).await?;
        let messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
        Ok((client, messages))
    }
}

/// Why an address cannot be read. A parameter is named, unless it may be a part of somebody's password: one
/// with `@` in it ends too early, and what follows is taken for something else.
fn unread(address: &str, error: &tokio_postgres::Error) -> OpenError {
    let is_plain = address.contains('?') && address.matches('@').count() <= 1;
    let told = error.source().map(ToString::to_string).filter(|_| is_plain);
    let is_of_parameter =
        |told: &String| told.starts_with("unknown option") || told.starts_with("invalid value");
    match told.filter(is_of_parameter) {
        Some(told) => OpenError::Parameter { told },
        None => OpenError::Address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_that_is_not_read_is_named_unless_it_may_be_a_password() {
        let told = |address: &str| {
            let Err(error) = Connector::new(&address.to_owned().into()) else {
                panic!("{address} is read")
            };
            error.to_string()
        };
        for (address, name) in [
            ("postgres://me:hunter2@h/d?foo=1", "unknown option `foo`"),
            ("postgres://h/d?passfile=pgpass", "unknown option `passfile`"),
            ("postgres://h/d?sslmode=allow", "invalid value for option `sslmode`"),
            ("postgres://h/d?connect_timeout=soon", "invalid value for option `connect_timeout`"),
        ] {
            let told = told(address);
            assert!(told.contains("is not like") && told.contains(name), "{told}");
            assert!(!told.contains("hunter2"), "{told}");
        }
        for address in ["postgres://me:hun@x/d?ter2=@h/d", "postgres://me:hunter2@h:x/d"] {
            let told = told(address);
            assert!(!told.contains("ter2"), "{told}");
        }
    }
}
