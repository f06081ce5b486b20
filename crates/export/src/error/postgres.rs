//! Errors of a PostgreSQL database.

use std::error::Error;

use formsvc_client::network::NetworkError;
use tokio_postgres::error::SqlState;

use crate::sql::quoted;

/// Longest id, in bytes: the index of the submissions has entries of at most 2,704 bytes, of which 32
/// are not the id's.
const ID_MAX: usize = 2_600;
/// Characters of a long id that the message shows.
const ID_SHOWN: usize = 40;

/// A PostgreSQL database cannot be used. No message contains an address or a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostgresError {
    /// The server cannot be reached.
    #[error("cannot connect to the database: {0}")]
    Connect(String),
    /// The server does not accept the user or the password.
    #[error("the database does not accept the user or the password: {0}")]
    Denied(String),
    /// The server requires a password, and there is none.
    #[error("the database requires a password; set `PGPASSWORD` or use `~/.pgpass`")]
    NoPassword,
    /// TLS cannot be used.
    #[error("TLS cannot be used: {0}")]
    Tls(#[source] NetworkError),
    /// The file with authorities cannot be used.
    #[error(transparent)]
    RootCert(NetworkError),
    /// The certificate of the server does not pass the check of `sslmode`.
    #[error("the certificate of the database does not pass the check of `sslmode`: {0}")]
    Certificate(rustls::Error),
    /// The user lacks rights.
    #[error("user `{user}` lacks rights; the owner can grant them: {statement}")]
    Rights {
        /// The user.
        user: String,
        /// The statement that grants the rights.
        statement: String,
    },
    /// The schema with this name does not exist.
    #[error("schema `{}` does not exist; create it: CREATE SCHEMA {};", .0, quoted(.0))]
    NoSchema(String),
    /// An object could run code of a role that is not trusted with the rights of this user.
    #[error(
        "{object} could run code of role `{owner}` with the rights of this user; trusted are this user, \
         roles whose rights it has, the owners of the schema and of the database, and superusers"
    )]
    Untrusted {
        /// The object.
        object: String,
        /// The role.
        owner: String,
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
    #[error(
        "the encoding of the database is `{0}`; it must be `UTF8`: `CREATE DATABASE forms ENCODING 'UTF8' TEMPLATE template0`"
    )]
    Encoding(String),
    /// The id of a submission or a form is too long for an index of PostgreSQL.
    #[error(
        "the id `{start}…` has {bytes} bytes; PostgreSQL can store ids of at most {ID_MAX} bytes, and \
         SQLite longer ones"
    )]
    LongId {
        /// The first characters of the id.
        start: String,
        /// Its length.
        bytes: usize,
    },
    /// The view of the form with this name was replaced by another object.
    #[error("`{0}` is not the view that sync created; rename or drop it")]
    View(String),
    /// The stored content is damaged.
    #[error("the tables are damaged: {0}")]
    Damaged(String),
    /// The connection was lost. The page in flight is not stored, and the next run continues.
    #[error("the connection to the database was lost: {0}")]
    Lost(String),
    /// The server refused a statement.
    #[error("the database refused a statement: {0}")]
    Refused(String),
    /// The server refused a statement because of other sessions or a time limit: a serialization
    /// failure, a deadlock, a lock or a canceled statement. The next run may succeed.
    #[error("the database refused a statement: {0}")]
    Conflict(String),
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code().map(SqlState::code) {
            Some("40001" | "40P01" | "55P03" | "57014") => Self::Conflict(describe(&error)),
            // Class 57P: the server ends the connection.
            Some(code) if !code.starts_with("57P") => Self::Refused(describe(&error)),
            _ => Self::Lost(describe(&error)),
        }
    }
}

impl PostgresError {
    /// Returns an error for an id that an index cannot contain.
    pub(crate) fn check_id(id: &str) -> Result<(), Self> {
        if id.len() <= ID_MAX {
            return Ok(());
        }
        Err(Self::LongId { start: id.chars().take(ID_SHOWN).collect(), bytes: id.len() })
    }

    /// Returns the error of a value that this program did not write.
    pub(crate) fn damaged(error: &tokio_postgres::Error) -> Self {
        Self::Damaged(describe(error))
    }

    /// Returns the error of a connection that was not made.
    pub(crate) fn connect(error: &tokio_postgres::Error) -> Self {
        if let Some(tls) = causes(error).find_map(tls_error) {
            return Self::Certificate(tls.clone());
        }
        let reason = describe(error);
        match error.code() {
            Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
                Self::Denied(reason)
            }
            None if reason.ends_with("password missing") => Self::NoPassword,
            _ => Self::Connect(reason),
        }
    }
}

/// Returns the server's message with its severity and code, or the causes of an error of the
/// connection. Details of the server's message are left out, because they may contain answers.
fn describe(error: &tokio_postgres::Error) -> String {
    if let Some(answer) = error.as_db_error() {
        return format!("{}: {} ({})", answer.severity(), answer.message(), answer.code().code());
    }
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Returns an error and its causes.
fn causes(error: &tokio_postgres::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(Some(error as &(dyn Error + 'static)), |error| (*error).source())
}

fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    error.downcast_ref::<std::io::Error>()?.get_ref()?.downcast_ref()
}
