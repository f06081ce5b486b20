#![doc = include_str!("../README.md")]

mod blocks;
mod destination;
mod error;
mod export;
mod format;
mod schema;

pub use destination::{Destination, Existing, WorkingFiles};
pub use error::{ExportError, Operation};
pub use export::{Progress, export, export_csv};
pub use format::{FORMATS, Format, FormatRow, Options, RecordWriter, Written, writer};
pub use schema::{DISTINCT_MAX, LABELS_MAX, Label, Rename, Schema, TooManyLabels, ValueKind};
