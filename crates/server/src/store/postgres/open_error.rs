//! Why a database could not be opened.

/// A PostgreSQL database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address cannot be read. It may carry a password, and is not repeated.
    #[error("the address is not like `postgres://user@host/database`")]
    Address,
    /// A parameter of the address is none that is known, or has a value that it cannot have.
    #[error("the address is not like `postgres://user@host/database?name=value`: {told}")]
    Parameter {
        /// Which, as the client library says it.
        told: String,
    },
    /// The address names no host.
    #[error("the address names no host")]
    NoHost,
    /// TLS could not be set up.
    #[error("TLS could not be set up")]
    Tls(#[source] rustls::Error),
    /// The address asks for less than is always checked.
    #[error("`sslmode=verify-ca` leaves the name of the host unchecked; use `verify-full`")]
    VerifyCa,
    /// The authorities to trust cannot be read.
    #[error("`sslrootcert` cannot be `{}`", path.display())]
    RootCert {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The database's certificate is not what it must be.
    #[error("the database's certificate is not trusted, or not for this host")]
    Certificate(#[source] crate::store::StoreError),
    /// The database shows the certificate of an authority.
    #[error(
        "the database's certificate is that of an authority, and a server must not use one as its own"
    )]
    OfAuthority,
    /// The database asks for a password.
    #[error("the database asks for a password, and there is none in the address")]
    NoPassword,
    /// The database lets this user in not, or not with this password.
    #[error("the database does not let this user in")]
    Denied(#[source] crate::store::StoreError),
    /// None of the schemas of the search path is there.
    #[error("the schema that the address names is not there")]
    NoSchema,
    /// The pool of connections could not be made.
    #[error("no pool of connections: {0}")]
    Pool(String),
    /// There are no tables, and none were to be made.
    #[error("the database has no tables of this service")]
    Missing,
    /// The database has tables of somebody else.
    #[error("the schema `{schema}` has tables, and they are not this service's")]
    NotOurs {
        /// The schema that connections see first.
        schema: String,
    },
    /// A newer release wrote the schema.
    #[error("the schema has version {found}, and this release knows {known}")]
    NewerSchema {
        /// Its version.
        found: usize,
        /// The newest known here.
        known: usize,
    },
    /// An older release wrote the schema, and only `serve` and `migrate` upgrade it.
    #[error("the database has schema version {found}, and this release needs version {needed}")]
    OlderSchema {
        /// Its version.
        found: usize,
        /// The version needed.
        needed: usize,
    },
    /// It is half of a copy.
    #[error("the database is a copy that was not finished, and nothing may use it until it is")]
    Unfinished,
    /// Somebody uses what is to be copied from or into.
    #[error("a server uses {side}, and what is copied must stand still")]
    InUse {
        /// "the source" or "the destination".
        side: &'static str,
    },
    /// The database could not be asked.
    #[error("the database cannot be used")]
    Store(#[source] crate::store::StoreError),
}

impl From<crate::store::StoreError> for OpenError {
    fn from(error: crate::store::StoreError) -> Self {
        if let Some(tls) = super::tls::failure(&error) {
            return if super::tls::is_of_authority(tls) {
                Self::OfAuthority
            } else {
                Self::Certificate(error)
            };
        }
        if super::fault::lacks_password(&error) {
            return Self::NoPassword;
        }
        match super::fault::code_of(&error).map(tokio_postgres::error::SqlState::code) {
            Some("28000" | "28P01") => Self::Denied(error),
            Some("3F000") => Self::NoSchema,
            _ => Self::Store(error),
        }
    }
}
