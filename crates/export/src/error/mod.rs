//! Errors of exports, of row stores and of databases.

#[cfg(feature = "postgres")]
mod postgres;
mod store;
mod sync;
mod unsupported;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(feature = "postgres")]
pub use postgres::PostgresError;
pub use store::{StoreError, StoreProblem};
pub use sync::SyncError;
pub use unsupported::Unsupported;

use formsvc_client::ErrorKind;

use crate::left_out::LeftOut;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// Creating the output or its working file.
    Create,
    /// Writing to the output.
    Write,
    /// Giving the complete file its name.
    Publish,
    /// Copying the complete output over a file that cannot be replaced. The file may be incomplete.
    Overwrite,
    /// Completing a file of several, after files before it were completed. Those are replaced already.
    PublishNext,
    /// Writing the manifest. The output is complete already.
    Manifest,
    /// Removing the saved submissions. The output is complete already.
    RemoveSpool,
    /// Writing to the temporary folder before a stream. The stream has no byte yet.
    Spool,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Create => "create",
            Self::Write => "write",
            Self::Publish | Self::PublishNext => "complete",
            Self::Overwrite => "overwrite",
            Self::Manifest => "write the manifest",
            Self::RemoveSpool => "remove the saved submissions",
            Self::Spool => "keep rows in the temporary folder",
        })
    }
}

/// An export failed. A file under the output's name is the previous one or complete, except after
/// [`Operation::Overwrite`]. A stream may have a part of the output.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The service could not be read.
    #[error(transparent)]
    Service(#[from] formsvc_client::Error),
    /// The output could not be written.
    #[error("cannot {operation} {}", output_name(path.as_deref()))]
    Output {
        /// The operation.
        operation: Operation,
        /// The output's path; `None` for a stream. For [`Spool`](Operation::Spool) the temporary folder.
        path: Option<PathBuf>,
        /// The reason.
        source: io::Error,
    },
    /// The reader of a stream closed it after it had read enough.
    #[error("the reader closed the output")]
    ReaderClosed,
    /// The row store cannot be used.
    #[error(transparent)]
    Store(StoreError),
    /// The form cannot be synchronized with the database.
    #[error(transparent)]
    Sync(#[from] SyncError),
    /// The PostgreSQL database cannot be used.
    #[cfg(feature = "postgres")]
    #[error(transparent)]
    Postgres(#[from] PostgresError),
    /// The time limit was reached before the list ended.
    #[error("the time limit was reached")]
    TimeLimit,
    /// Submissions are or could be missing.
    #[error("the result is incomplete: {0}")]
    Incomplete(LeftOut),
    /// The export stopped. The submissions received so far are saved, and the same export continues
    /// with them. The output is unchanged, unless the [`Operation`] of the cause is one after a
    /// replacement.
    #[error("the export stopped; {rows_saved} submissions are saved")]
    Unfinished {
        /// Number of submissions that are saved.
        rows_saved: u64,
        /// The folder of the saved submissions.
        folder: PathBuf,
        /// Why it stopped.
        #[source]
        cause: Box<ExportError>,
    },
    /// The filter of rows failed.
    #[error("the filter failed for submission `{id}`: {message}")]
    Filter {
        /// The submission.
        id: String,
        /// The filter's reason.
        message: String,
    },
    /// Options that do not go together, or that this build lacks.
    #[error(transparent)]
    Unsupported(#[from] Unsupported),
    /// The rows of the second pass were not those of the first, because another process changed them.
    #[error("the stored rows changed while they were read; run it again")]
    RowsChanged,
}

/// Returns true for a failure of a file that stays until the user changes something.
fn is_permanent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied | InvalidInput)
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        match error.problem() {
            StoreProblem::TimeLimit => Self::TimeLimit,
            _ => Self::Store(error),
        }
    }
}

impl ExportError {
    /// Returns true if the same call would fail again until the caller, the service or the database is
    /// changed. Other failures may pass.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Service(error) => match error.kind() {
                ErrorKind::Config | ErrorKind::TieOverflow | ErrorKind::InvalidItem => true,
                ErrorKind::Api => error.status().is_some_and(|status| {
                    let is_passing = matches!(status.as_u16(), 408 | 425 | 429);
                    status.is_redirection() || status.is_client_error() && !is_passing
                }),
                _ => false,
            },
            Self::Store(error) => match error.problem() {
                StoreProblem::Io(error) => is_permanent(error),
                StoreProblem::Full | StoreProblem::TimeLimit | StoreProblem::Busy => false,
                problem => !matches!(problem, StoreProblem::Other(_)),
            },
            #[cfg(feature = "postgres")]
            Self::Postgres(error) => !matches!(
                error,
                PostgresError::Connect(_) | PostgresError::Lost(_) | PostgresError::Conflict(_)
            ),
            Self::Sync(SyncError::Locked(_)) => false,
            Self::Sync(_) | Self::Filter { .. } | Self::Unsupported(_) | Self::Incomplete(_) => {
                true
            }
            Self::Output { source, .. } => is_permanent(source),
            Self::Unfinished { cause, .. } => cause.is_permanent(),
            _ => false,
        }
    }

    /// Returns true if another process uses the form or the database at this time.
    pub fn is_conflict(&self) -> bool {
        match self {
            Self::Sync(SyncError::Locked(_)) => true,
            #[cfg(feature = "postgres")]
            Self::Postgres(PostgresError::Conflict(_)) => true,
            Self::Store(error) => matches!(error.problem(), StoreProblem::Busy),
            _ => false,
        }
    }

    pub(crate) fn output(operation: Operation, path: Option<&Path>, source: io::Error) -> Self {
        Self::Output { operation, path: path.map(Path::to_owned), source }
    }

    /// Replaces the operation of an error of the output.
    pub(crate) fn during(self, operation: Operation) -> Self {
        match self {
            Self::Output { path, source, .. } => Self::Output { operation, path, source },
            error => error,
        }
    }
}

fn output_name(path: Option<&Path>) -> String {
    path.map_or("the output".to_owned(), |path| format!("`{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permanent_failures_are_told_from_passing_ones() {
        let output = |kind: io::ErrorKind| {
            ExportError::output(Operation::Write, None, io::Error::from(kind)).is_permanent()
        };
        assert!(output(io::ErrorKind::PermissionDenied) && output(io::ErrorKind::InvalidInput));
        assert!(!output(io::ErrorKind::StorageFull) && !output(io::ErrorKind::Interrupted));
        let store = |problem| {
            ExportError::from(StoreError::new(Path::new("rows.db"), problem)).is_permanent()
        };
        assert!(store(StoreProblem::ChangedTable("labels".to_owned())));
        assert!(!store(StoreProblem::Busy) && !store(StoreProblem::Full));
        assert!(ExportError::Incomplete(LeftOut::default()).is_permanent());
        assert!(!ExportError::TimeLimit.is_permanent() && !ExportError::RowsChanged.is_permanent());
    }
}
