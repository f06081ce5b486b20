//! Options of an export that do not go together, or that this build lacks.

use crate::file_format::{Compression, Format};

/// Options that do not go together, or that this build lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsupported {
    /// This build lacks the format.
    #[error("this build cannot write {}", .0.name())]
    Format(Format),
    /// This build lacks the compression.
    #[error("this build cannot compress with {0:?}")]
    Compression(Compression),
    /// The format has its own compression.
    #[error("{} cannot be compressed once more", .0.name())]
    Compressed(Format),
    /// The format has no columns to select.
    #[error("{} has no columns to select", .0.name())]
    Columns(Format),
    /// The format keeps labels as they are.
    #[error("{} keeps labels as they are", .0.name())]
    NewLabels(Format),
    /// The character cannot separate cells.
    #[error("`{}` cannot separate cells; use `,`, `;` or a tab", char::from(*.0).escape_default())]
    Delimiter(u8),
    /// The format needs a file.
    #[error("{} needs a file, not a stream, pipe or device", .0.name())]
    NoFile(Format),
    /// The format needs all rows before its first one.
    #[error("{} needs all rows before its first one", .0.name())]
    Stream(Format),
    /// The format has no files per month.
    #[error("{} has no files per month; use parquet", .0.name())]
    Months(Format),
}
