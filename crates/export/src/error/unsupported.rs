//! Options of an export that do not go together, or that this build lacks.

use std::fmt;

use crate::compress::Compression;
use crate::format::Format;

/// Options that do not go together, or that this build lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unsupported {
    /// This build lacks the format.
    Format(Format),
    /// This build lacks the compression.
    Compression(Compression),
    /// The format has its own compression.
    Compressed(Format),
    /// The format has no columns to select.
    Columns(Format),
    /// The format keeps labels as they are.
    NewLabels(Format),
    /// The character cannot separate cells.
    Delimiter(u8),
    /// The format needs a file.
    NoFile(Format),
    /// The format needs all rows before its first one.
    Stream(Format),
    /// The format has no files per month.
    Months(Format),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(format) => write!(f, "this build cannot write {}", format.name()),
            Self::Compression(compression) => {
                write!(f, "this build cannot write {compression:?}")
            }
            Self::Compressed(format) => {
                write!(f, "{} cannot be compressed once more", format.name())
            }
            Self::Columns(format) => write!(f, "{} has no columns to select", format.name()),
            Self::NewLabels(format) => write!(f, "{} keeps labels as they are", format.name()),
            Self::Delimiter(delimiter) => {
                let shown = char::from(*delimiter).escape_default();
                write!(f, "`{shown}` cannot separate cells; use `,`, `;` or a tab")
            }
            Self::NoFile(format) => {
                write!(f, "{} needs a file, not a stream, pipe or device", format.name())
            }
            Self::Stream(format) => {
                write!(f, "{} needs all rows before its first one", format.name())
            }
            Self::Months(format) => {
                write!(f, "{} has no files per month; use parquet", format.name())
            }
        }
    }
}

impl std::error::Error for Unsupported {}
