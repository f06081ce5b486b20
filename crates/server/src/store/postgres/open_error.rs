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
    Store(#[from] crate::store::StoreError),
}
