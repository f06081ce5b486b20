//! Why a copy was not made, or not finished.

use crate::store::StoreError;

/// A service was not copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    /// A copy is made into nothing, or goes on.
    #[error("the destination has rows in `{table}` already, and must be empty")]
    NotEmpty {
        /// The first table that has any.
        table: &'static str,
    },
    /// What was begun cannot be finished with it.
    #[error(
        "the destination holds a part of another source, or the source was changed since: \
        `{table}` is not what it was"
    )]
    OtherSource {
        /// The first table that differs.
        table: String,
    },
    /// What was read back is not what was read.
    #[error("`{table}` has {found} rows in the destination, {expected} in the source, or others")]
    Differs {
        /// The table.
        table: String,
        /// Rows in the source.
        expected: u64,
        /// Rows in the destination.
        found: u64,
    },
    /// A secret that the server could not sign with.
    #[error("the signing secret of endpoint `{endpoint}` does not open")]
    Sealed {
        /// The endpoint.
        endpoint: String,
        /// Why.
        #[source]
        source: crate::secrets::OpenError,
    },
    /// The note of how far the copy is cannot be read.
    #[error("the destination's note of how far the copy is cannot be read")]
    Note(#[source] serde_json::Error),
    /// A row, or the note, has a key that rows cannot be read after.
    #[error("a key of `{table}` is not of the numbers and bytes that its rows are read by")]
    Key {
        /// The table.
        table: &'static str,
    },
    /// A database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
