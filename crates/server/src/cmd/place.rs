//! Where a database is: a file, or a PostgreSQL server.

#[cfg(feature = "postgres")]
mod server;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use formsvc_protocol::EndpointId;

use super::address::Shape;
use super::config::directory_of;
use super::database_url_error::DatabaseUrlError;
use super::error::CommandError;
use super::exit::Exit;
use super::output;
use super::settings::bad;
use crate::copy::{Role, Side};
use crate::printable::Excerpt;
use crate::same_file::is_same_file;
#[cfg(feature = "postgres")]
use crate::store::postgres::{OpenError as ServerError, PostgresSide, PostgresStore};
use crate::store::sqlite::{OpenError, SqliteSide, SqliteStore};
use crate::store::{SchemaPolicy, SealedSecret, Store, steady_clock, system_clock};

/// Begins the path of a file, where it would be taken for something else.
const FILE: &str = "sqlite:";
/// With these begins what SQLite and others call a URI, which is not read here: a slip in it would make a
/// file of another name, or in another directory.
const URIS: [&str; 2] = ["sqlite://", "file:"];

/// Where a database is.
#[derive(Clone)]
pub(super) enum Place {
    /// In a file.
    File(PathBuf),
    /// On a PostgreSQL server. The address may carry a password.
    #[cfg(feature = "postgres")]
    Server(secrecy::SecretString),
    /// Meant as an address, and none that is read.
    Unread(DatabaseUrlError),
}

/// Without the address of a server, which may carry a password.
impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            #[cfg(feature = "postgres")]
            Self::Server(_) => f.write_str("Server(..)"),
            Self::Unread(why) => f.debug_tuple("Unread").field(why).finish(),
        }
    }
}

/// As people are told of it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => Excerpt(&path.display().to_string()).fmt(f),
            #[cfg(feature = "postgres")]
            Self::Server(_) => f.write_str("the PostgreSQL database"),
            Self::Unread(_) => f.write_str("the database"),
        }
    }
}

impl From<std::ffi::OsString> for Place {
    fn from(text: std::ffi::OsString) -> Self {
        let Some(plain) = text.to_str() else { return Self::File(text.into()) };
        if URIS.iter().any(|uri| plain.starts_with(uri)) {
            return Self::Unread(DatabaseUrlError::Uri);
        }
        match Shape::of(plain) {
            #[cfg(feature = "postgres")]
            Shape::Address => Self::Server(plain.to_owned().into()),
            #[cfg(not(feature = "postgres"))]
            Shape::Address => Self::Unread(DatabaseUrlError::Postgres),
            Shape::Pairs => Self::Unread(DatabaseUrlError::Pairs),
            Shape::Foreign(_) => Self::Unread(DatabaseUrlError::Scheme),
            Shape::NoSlashes => Self::Unread(DatabaseUrlError::NoSlashes),
            Shape::Path => Self::File(plain.strip_prefix(FILE).unwrap_or(plain).into()),
        }
    }
}

/// Endpoints and their sealed secrets.
pub(super) type Sealed = Vec<(EndpointId, SealedSecret)>;

/// What a command may do with a database that is not there yet.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Missing {
    Create,
    Refuse,
}

impl From<Missing> for SchemaPolicy {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Create => Self::Create,
            Missing::Refuse => Self::Require,
        }
    }
}

impl Place {
    /// The file, if it is one.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            #[cfg(feature = "postgres")]
            Self::Server(_) => None,
            Self::Unread(_) => None,
        }
    }

    /// Whether one can be there; nothing is opened.
    pub(super) fn check(&self) -> Result<(), CommandError> {
        match self {
            Self::File(path) if path.as_os_str() == ":memory:" => {
                Err(refused(path, &OpenError::InMemory))
            }
            Self::File(path) => directory_of(path),
            #[cfg(feature = "postgres")]
            Self::Server(address) => server::check(address),
            Self::Unread(why) => Err(why.report()),
        }
    }

    /// Which signing secrets are in it, if it is there and can be read by this release; none when a server
    /// would make it. Of an older schema, which a server would upgrade, they are not read. Changes nothing.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "a file is not waited for")
    )]
    pub(super) async fn reach(&self) -> Result<Option<Sealed>, CommandError> {
        match self {
            Self::File(path) if !path.exists() || is_empty(path) => Ok(None),
            Self::File(path) => match SqliteStore::inspect(path) {
                Err(error @ OpenError::OlderSchema { .. }) => Ok(Some(self.note_older(&error))),
                found => found.map(Some).map_err(|error| refused(path, &error)),
            },
            #[cfg(feature = "postgres")]
            Self::Server(address) => match PostgresStore::inspect(address).await {
                Err(ServerError::Missing) => Ok(None),
                Err(error @ ServerError::OlderSchema { .. }) => Ok(Some(self.note_older(&error))),
                found => found.map(Some).map_err(|error| server::refused(&error)),
            },
            Self::Unread(why) => Err(why.report()),
        }
    }

    /// Reports an older schema. Its secrets count as none.
    fn note_older(&self, error: &dyn std::error::Error) -> Sealed {
        output::note(&format!("{self}: {error}; `serve` and `migrate` upgrade it"));
        Sealed::new()
    }

    /// Whether it is the same as another, as far as can be seen without asking.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => is_same_file(one, other),
            #[cfg(feature = "postgres")]
            (Self::Server(one), Self::Server(other)) => {
                use secrecy::ExposeSecret;
                one.expose_secret().trim() == other.expose_secret().trim()
            }
            _ => false,
        }
    }

    /// Opens it for a command, beside a server that may run on it.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "a file is not waited for")
    )]
    pub(super) async fn open(&self, missing: Missing) -> Result<Arc<dyn Store>, CommandError> {
        match self {
            Self::File(path) => {
                // What the store refuses whether or not it is there must not send anyone to `migrate`.
                let is_there = path.exists() || path.as_os_str() == ":memory:";
                if missing == Missing::Refuse && !is_there {
                    return Err(absent(&format!("there is no database `{self}`")));
                }
                // Nor may a question make a database of a file in which there is none.
                if missing == Missing::Refuse && is_empty(path) {
                    return Err(absent(&format!("there is no database in `{self}`: it is empty")));
                }
                let store = SqliteStore::open_with(path, missing.into(), system_clock());
                Ok(Arc::new(store.map_err(|error| refused(path, &error))?))
            }
            #[cfg(feature = "postgres")]
            Self::Server(address) => server::open(address, missing.into()).await,
            Self::Unread(why) => Err(why.report()),
        }
    }

    /// Creates the database, or upgrades its schema. A file is not upgraded while a server has it.
    pub(super) async fn migrate(&self) -> Result<(), CommandError> {
        let store: Arc<dyn Store> = match self {
            Self::File(path) => {
                let store = match SqliteStore::open(path, system_clock()) {
                    Err(OpenError::OlderSchema { .. }) => {
                        SqliteStore::open_exclusive(path, system_clock())
                    }
                    opened => opened,
                };
                Arc::new(store.map_err(|error| refused(path, &error))?)
            }
            #[cfg(feature = "postgres")]
            Self::Server(address) => server::open(address, SchemaPolicy::Upgrade).await?,
            Self::Unread(why) => return Err(why.report()),
        };
        Ok(store.close().await?)
    }

    /// Opens it to copy all of it, or into it, which nobody else may use meanwhile.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "a file is not waited for")
    )]
    pub(super) async fn open_to_copy(&self, role: Role) -> Result<Side, CommandError> {
        match self {
            Self::File(path) => {
                if role == Role::Source && !path.exists() {
                    return Err(absent(&format!("there is no database `{self}`")));
                }
                let side = SqliteSide::open(path, role).map_err(|error| match error {
                    OpenError::OlderSchema { .. } if role == Role::Destination => {
                        refused(path, &error).hint(OTHER_DESTINATION)
                    }
                    error => refused(path, &error),
                });
                Ok(Side::File(side?))
            }
            #[cfg(feature = "postgres")]
            Self::Server(address) => {
                let side = PostgresSide::open(address, role).await.map_err(|error| match error {
                    ServerError::OlderSchema { .. } if role == Role::Destination => {
                        server::refused(&error).hint(OTHER_DESTINATION)
                    }
                    error => server::refused(&error),
                });
                Ok(Side::Server(side?))
            }
            Self::Unread(why) => Err(why.report()),
        }
    }

    /// Opens it for a server, which a file has only one of, and of which so many MiB are kept in memory.
    #[cfg_attr(
        not(feature = "postgres"),
        expect(clippy::unused_async, reason = "a file is not waited for")
    )]
    pub(super) async fn open_to_serve(
        &self,
        page_cache: u32,
    ) -> Result<Arc<dyn Store>, CommandError> {
        match self {
            Self::File(path) => {
                let store = SqliteStore::open_exclusive(path, system_clock());
                let store = store.map_err(|error| refused(path, &error))?;
                Ok(Arc::new(store.with_steady_clock(steady_clock()).with_page_cache(page_cache)))
            }
            #[cfg(feature = "postgres")]
            Self::Server(address) => server::open(address, SchemaPolicy::Upgrade).await,
            Self::Unread(why) => Err(why.report()),
        }
    }
}

/// Whether a file has nothing in it.
fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0)
}

/// What to do with a copy that was not finished.
pub(super) const UNFINISHED: &str =
    "finish it with `formsvc-server copy`, from the source it was begun with";

/// What to do about a destination of an older schema.
const OTHER_DESTINATION: &str = "name a database with nothing in it";
/// What to do with a database of an older schema.
pub(super) const OLDER: &str =
    "`formsvc-server migrate` upgrades it, and so does the next start of `serve`";

fn absent(what: &str) -> CommandError {
    CommandError::new(Exit::NotFound, what)
        .hint("`formsvc-server user add` makes one, with its first user")
}

/// A file that was not opened.
fn refused(path: &Path, error: &OpenError) -> CommandError {
    let path = path.display().to_string();
    match error {
        OpenError::NotADatabase => {
            let what = format!("`{}` is not a formsvc database", Excerpt(&path));
            return CommandError::new(Exit::LocalIo, what).hint("choose another path");
        }
        OpenError::Empty => {
            return absent(&format!("there is no database in `{}`: it is empty", Excerpt(&path)));
        }
        OpenError::InMemory => {
            return bad("--database", &path, "must be the path of a file")
                .hint("`formsvc sandbox` serves a database in memory");
        }
        _ => {}
    }
    let hint = match error {
        OpenError::Locked { .. } => "one server at a time: stop the other one first",
        OpenError::NewerSchema { .. } => "use the release that wrote it, or a later one",
        OpenError::OlderSchema { .. } => OLDER,
        OpenError::NotOurs => "choose another path",
        OpenError::Unfinished => UNFINISHED,
        OpenError::NotALock { .. } => "find out who put it there, and remove it",
        _ => {
            "check that it belongs to the user who runs this, and that its directory exists, is local, \
            and can be written"
        }
    };
    CommandError::of(Exit::LocalIo, error).hint(hint).about(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_unless_it_is_an_address() {
        for (text, file) in
            [("a.db", "a.db"), ("sqlite:a.db", "a.db"), ("sqlite:sqlite:", "sqlite:")]
        {
            let place = Place::from(std::ffi::OsString::from(text));
            assert_eq!(place.file(), Some(Path::new(file)), "{text}");
        }
        for text in ["postgres://h/d", "postgresql://me:hunter2@h/d", " POSTGRES://me:hunter2@h"] {
            let place = Place::from(std::ffi::OsString::from(text));
            assert_eq!(place.file(), None, "{text}");
            assert!(!format!("{place:?} {place}").contains("hunter2"));
        }
    }

    #[test]
    fn what_is_meant_as_an_address_makes_no_file_and_is_not_repeated() {
        for (text, why) in [
            ("sqlite://hunter2.db", DatabaseUrlError::Uri),
            ("sqlite:///hunter2.db", DatabaseUrlError::Uri),
            ("file:hunter2.db", DatabaseUrlError::Uri),
            ("host=h password=hunter2", DatabaseUrlError::Pairs),
            ("postgre://me:hunter2@h", DatabaseUrlError::Scheme),
            ("mysql://me:hunter2@h", DatabaseUrlError::Scheme),
            ("postgres:me:hunter2@h", DatabaseUrlError::NoSlashes),
            ("postgresql:/me:hunter2@h/d", DatabaseUrlError::NoSlashes),
            ("me:hunter2@h/d", DatabaseUrlError::NoSlashes),
        ] {
            let place = Place::from(std::ffi::OsString::from(text));
            assert!(matches!(place, Place::Unread(found) if found == why), "{text}: {place:?}");
            let told = place.check().unwrap_err();
            assert_eq!(told.exit(), Exit::Usage);
            assert!(!format!("{told:?} {place}").contains("hunter2"), "{told:?}");
        }
    }
}
