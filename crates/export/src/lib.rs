#![doc = include_str!("../README.md")]

mod blocks;
mod cell;
mod columns;
mod destination;
mod error;
mod export;
mod format;
mod guard;
mod place;
mod record;
mod schema;

pub use cell::{Cell, cell};
pub use columns::Columns;
pub use destination::{Destination, Existing, WorkingFiles};
pub use error::{ExportError, Operation};
pub use export::{Progress, export};
pub use format::{FORMATS, Format, FormatRow, Options, RecordWriter, Written, writer};
pub use guard::{guarded, needs_guard};
pub use place::Places;
pub use record::Record;
pub use schema::{DISTINCT_MAX, LABELS_MAX, Label, Rename, Schema, TooManyLabels, ValueKind};
