//! Texts that name no database.

use super::error::CommandError;

/// Why a text names no database. Its message does not contain the text, which may carry a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseUrlError {
    /// A URI of a file.
    Uri,
    /// `key=value key=value`.
    Pairs,
    /// A scheme other than PostgreSQL's.
    Scheme,
    /// An address without `://`, or a file with a colon in its name.
    NoSlashes,
    /// An address of PostgreSQL in a program without the feature `postgres`.
    #[cfg(not(feature = "postgres"))]
    Postgres,
}

impl DatabaseUrlError {
    pub(super) fn report(self) -> CommandError {
        let (message, hint) = match self {
            Self::Uri => (
                "the database is named by a path, and a URI is none",
                "`data/x.db`, or `sqlite:data/x.db`, with a slash in front where the path has one",
            ),
            Self::Pairs => (
                "an address of a database made of `key=value` is not read",
                "give it as `postgres://user@host/database`",
            ),
            Self::Scheme => (
                "there is no such kind of database: the address begins with another scheme",
                "`postgres://user@host/database` for PostgreSQL; anything without `://` is the path of a \
                 file",
            ),
            Self::NoSlashes => (
                "the database must be a path or an address with `://`, and this begins with a name and a \
                 colon",
                "`postgres://user@host/database` for PostgreSQL; `./a:b.db` for a file with a colon in its \
                 name",
            ),
            #[cfg(not(feature = "postgres"))]
            Self::Postgres => (
                "this program was built without PostgreSQL",
                "build it with the feature `postgres`, or name the path of a file",
            ),
        };
        CommandError::usage(message).hint(hint)
    }
}
