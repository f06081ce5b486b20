//! Why a database could not be opened.

/// A PostgreSQL database cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The address cannot be read. It may carry a password, and is not repeated.
    #[error("the address is not like `postgres://user@host/database`")]
    Address,
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
        found: i32,
        /// The newest known here.
        known: i32,
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
        if super::tls::is_of_tls(&error) { Self::Certificate(error) } else { Self::Store(error) }
    }
}
