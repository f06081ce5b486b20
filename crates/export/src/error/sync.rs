//! Errors of databases that submissions are synchronized with.

use std::path::PathBuf;

use formsvc_client::Completeness;

use crate::remark::thousands;

/// A form cannot be synchronized with a database. No message contains a password or the address of a
/// database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SyncError {
    /// The text is not the address of a database.
    #[error("invalid sync target: {0}")]
    Target(String),
    /// Another run synchronizes the form with this id with this database.
    #[error("form `{0}` is locked by another run that synchronizes it with this database")]
    Locked(String),
    /// The SQLite database in this file has submissions that sync did not store.
    #[error("`{}` was written by an export; sync needs a file of its own", .0.display())]
    Exported(PathBuf),
    /// Submissions cannot be marked as deleted or removed, because the list could be incomplete.
    #[error(
        "no submission was marked or removed, because the list of the service is `{completeness}`; \
         it must be `proven` (stored and not in the list: {})",
        thousands(*missing)
    )]
    NotProven {
        /// Stored submissions that are not in the list.
        missing: u64,
        /// The completeness of the list.
        completeness: Completeness,
    },
    /// Submissions cannot be marked as deleted or removed, because the list is empty. This number is stored.
    #[error(
        "no submission was marked or removed, because the list of the service is empty (stored and \
         not in the list: {})",
        thousands(*.0)
    )]
    EmptyList(u64),
}
