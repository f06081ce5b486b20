//! A database on a PostgreSQL server.

use secrecy::SecretString;

use super::{Arc, CommandError, Exit, OLDER, SchemaPolicy, Store, UNFINISHED, absent};
use crate::store::postgres::{OpenError, PostgresOptions, PostgresStore};

pub(super) async fn open(
    address: &SecretString,
    schema: SchemaPolicy,
) -> Result<Arc<dyn Store>, CommandError> {
    let options = PostgresOptions { schema, ..PostgresOptions::of(address.clone()) };
    match PostgresStore::open(&options).await {
        Ok(store) => Ok(Arc::new(store)),
        Err(error) => Err(refused(&error)),
    }
}

pub(super) fn check(address: &SecretString) -> Result<(), CommandError> {
    PostgresStore::check_address(address).map_err(|error| refused(&error))
}

pub(super) fn refused(error: &OpenError) -> CommandError {
    let (exit, hint) = match error {
        OpenError::Missing => return absent("the PostgreSQL database is empty"),
        OpenError::Unfinished => (Exit::LocalIo, UNFINISHED),
        OpenError::VerifyCa => (Exit::Usage, "`sslrootcert=PATH` says whom to trust"),
        OpenError::RootCert { .. } => {
            (Exit::LocalIo, "name a PEM file with the authorities to trust")
        }
        OpenError::Certificate(_) => (
            Exit::LocalIo,
            "it must be for the host in the address, and signed by an authority that the system \
             trusts, or by one in the PEM file that `?sslrootcert=PATH` in the address names; for a \
             database on this machine `?sslmode=disable` goes without TLS",
        ),
        OpenError::OfAuthority => (
            Exit::LocalIo,
            "give the database a certificate of its own, and name the file of the authority that \
             signed it with `?sslrootcert=PATH` in the address; for a database on this machine \
             `?sslmode=disable` goes without TLS",
        ),
        OpenError::NoPassword => (
            Exit::LocalIo,
            "it goes into the address, as in `postgres://user:password@host/database`, and that into \
             FORMSVC_SERVER_DATABASE or the configuration file; PGPASSWORD and PGPASSFILE are not \
             read",
        ),
        OpenError::Denied(_) => (Exit::LocalIo, "check the user and the password in the address"),
        OpenError::NoSchema => (
            Exit::LocalIo,
            "make it with `CREATE SCHEMA`, or let `search_path` in the address name one that is there",
        ),
        OpenError::Parameter { .. } => (
            Exit::Usage,
            "behind the `?` stand `sslmode` (disable, prefer, require or verify-full), `sslrootcert`, \
             `connect_timeout`, `application_name` or `options`, with `&` between",
        ),
        OpenError::InUse { .. } => (Exit::LocalIo, "stop its servers first"),
        OpenError::Address | OpenError::NoHost => {
            (Exit::Usage, "give it as `postgres://user@host/database`")
        }
        OpenError::NewerSchema { .. } => {
            (Exit::LocalIo, "use the release that wrote it, or a later one")
        }
        OpenError::OlderSchema { .. } => (Exit::LocalIo, OLDER),
        OpenError::NotOurs { .. } => {
            (Exit::LocalIo, "choose another database, or a schema of its own for it")
        }
        _ => (Exit::LocalIo, "check that its server runs and lets you in"),
    };
    CommandError::of(exit, error).hint(hint)
}
