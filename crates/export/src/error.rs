//! Errors of exports.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::store::StoreError;
use crate::sync::SyncError;

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
    /// Writing to the temporary folder before a stream. The stream has no byte yet.
    Spool,
}

/// An export failed. Nothing that looks like a complete output was left behind.
#[derive(Debug)]
#[non_exhaustive]
pub enum ExportError {
    /// The service could not be read.
    Service(formsvc_client::Error),
    /// The output could not be written.
    Output {
        /// The operation.
        operation: Operation,
        /// The output's path; `None` for a stream. For [`Spool`](Operation::Spool) the temporary folder.
        path: Option<PathBuf>,
        /// The reason.
        source: io::Error,
    },
    /// The reader of a stream closed it after it had read enough.
    ReaderClosed,
    /// The row store cannot be used.
    Store(StoreError),
    /// The database that submissions are synchronized with cannot be used.
    Sync(SyncError),
    /// The time limit was reached before the list ended.
    TimeLimit,
    /// More submissions share a unit of the service's cursor than a page can show, so that some may
    /// be missing.
    Incomplete {
        /// Descriptions of the units.
        units: Vec<String>,
    },
    /// The export stopped. The submissions received so far are saved, and the same export continues
    /// with them. The output is unchanged.
    Unfinished {
        /// Number of submissions that are saved.
        rows_saved: u64,
        /// The folder of the saved submissions.
        folder: PathBuf,
        /// Why it stopped.
        cause: Box<ExportError>,
    },
    /// The filter of rows failed.
    Filter {
        /// The submission.
        id: String,
        /// The filter's reason.
        message: String,
    },
    /// Options that do not go together, or a format that this build lacks.
    Unsupported(String),
    /// The rows of the second pass were not those of the first, because another process changed them.
    RowsChanged,
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(error) => error.fmt(f),
            Self::Output { operation, path, .. } => {
                let verb = match operation {
                    Operation::Create => "create",
                    Operation::Write => "write",
                    Operation::Publish => "complete",
                    Operation::Overwrite => "overwrite",
                    Operation::Spool => "keep rows in the temporary folder",
                };
                match path {
                    Some(path) => write!(f, "cannot {verb} `{}`", path.display()),
                    None => write!(f, "cannot {verb} the output"),
                }
            }
            Self::ReaderClosed => f.write_str("the reader closed the output"),
            Self::Store(error) => error.fmt(f),
            Self::Sync(error) => error.fmt(f),
            Self::TimeLimit => f.write_str("the time limit was reached"),
            Self::Incomplete { .. } => f.write_str(
                "the result is incomplete: more submissions share a unit of the service's cursor \
                 than a page can show",
            ),
            Self::Unfinished { rows_saved, cause, .. } => {
                write!(f, "{cause}; {rows_saved} submissions are saved")
            }
            Self::Filter { id, message } => {
                write!(f, "the filter failed for submission `{id}`: {message}")
            }
            Self::Unsupported(reason) => f.write_str(reason),
            Self::RowsChanged => {
                f.write_str("the stored rows changed while they were read; run it again")
            }
        }
    }
}

impl std::error::Error for ExportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Display already contains the client's message.
            Self::Service(error) => std::error::Error::source(error),
            Self::Output { source, .. } => Some(source),
            Self::Store(error) => std::error::Error::source(error),
            Self::Sync(error) => std::error::Error::source(error),
            Self::Unfinished { cause, .. } => cause.source(),
            _ => None,
        }
    }
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SyncError> for ExportError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Store(error) => Self::Store(error),
            error => Self::Sync(error),
        }
    }
}

impl From<formsvc_client::Error> for ExportError {
    fn from(error: formsvc_client::Error) -> Self {
        Self::Service(error)
    }
}
