//! Errors of a PostgreSQL database.

use std::error::Error;
use std::path::PathBuf;

use tokio_postgres::error::SqlState;

/// A PostgreSQL database cannot be used. No message contains an address or a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The server cannot be reached.
    #[error("cannot connect to the database")]
    Connect(#[source] tokio_postgres::Error),
    /// The server does not accept the user or the password.
    #[error("the database does not accept the user or the password")]
    Denied(#[source] tokio_postgres::Error),
    /// The server requires a password, and there is none.
    #[error("the database requires a password; set `PGPASSWORD` or use `~/.pgpass`")]
    NoPassword,
    /// TLS cannot be used.
    #[error("TLS cannot be used")]
    Tls(#[source] rustls::Error),
    /// The certificate of the server does not pass the check of `sslmode`.
    #[error("the certificate of the database does not pass the check of `sslmode`: {0}")]
    Certificate(rustls::Error),
    /// The file with authorities cannot be used.
    #[error("cannot use `sslrootcert` `{}`: {reason}", path.display())]
    RootCert {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The user lacks rights.
    #[error("user `{user}` lacks rights; the owner can grant them: {statement}")]
    Rights {
        /// The user.
        user: String,
        /// The statement that grants the rights.
        statement: String,
    },
    /// The schema does not exist.
    #[error(
        "schema `{schema}` does not exist; create it: CREATE SCHEMA {};",
        super::quoted(schema)
    )]
    NoSchema {
        /// The schema.
        schema: String,
    },
    /// Tables have names of this program, but are those of another one, or of another release.
    #[error("the tables `formsvc_…` in schema `{schema}` are not those of this release: {reason}")]
    Foreign {
        /// The schema.
        schema: String,
        /// The reason.
        reason: String,
    },
    /// The database cannot store all characters.
    #[error("the encoding of the database is `{0}`; it must be `UTF8`")]
    Encoding(String),
    /// The view of the form was replaced by another object.
    #[error("`{view}` is not the view that sync created; rename or drop it")]
    View {
        /// The view.
        view: String,
    },
    /// The stored content is damaged.
    #[error("the tables are damaged: {0}")]
    Damaged(String),
    /// The connection was lost. The page in flight is not stored, and the next run continues.
    #[error("the connection to the database was lost")]
    Lost(#[source] tokio_postgres::Error),
    /// The server refused a statement.
    #[error("the database refused a statement")]
    Refused(#[source] tokio_postgres::Error),
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        // Class 57P: the server ends the connection.
        let is_ended = error.code().is_some_and(|code| code.code().starts_with("57P"));
        match error.as_db_error() {
            Some(_) if !is_ended => Self::Refused(error),
            _ => Self::Lost(error),
        }
    }
}

impl PostgresError {
    /// Returns the error of a connection that was not made.
    pub(super) fn connect(error: tokio_postgres::Error) -> Self {
        if let Some(tls) = tls_error(&error) {
            return Self::Certificate(tls.clone());
        }
        let is_denied = error.code().is_some_and(|code| {
            [SqlState::INVALID_PASSWORD, SqlState::INVALID_AUTHORIZATION_SPECIFICATION]
                .contains(code)
        });
        if is_denied {
            return Self::Denied(error);
        }
        let has_no_password =
            error.source().is_some_and(|source| source.to_string() == "password missing");
        if has_no_password { Self::NoPassword } else { Self::Connect(error) }
    }
}

/// Returns the TLS error that caused an error.
fn tls_error(error: &tokio_postgres::Error) -> Option<&rustls::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(found) = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
