#![doc = include_str!("../README.md")]

mod blocks;
mod coverage;
mod destination;
mod error;
mod export;
mod format;
mod pull;
mod row;
mod schema;
mod store;

pub use coverage::{Coverage, Interval};
pub use destination::{Destination, Existing, WorkingFiles};
pub use error::{ExportError, Operation};
pub use export::{Progress, export, export_csv};
pub use format::{FORMATS, Format, FormatRow, Options, RecordWriter, Written, writer};
pub use pull::{PullOptions, PullProgress, PullSummary, pull};
pub use row::{RowSource, StoredRow};
pub use schema::{DISTINCT_MAX, LABELS_MAX, Label, Rename, Schema, TooManyLabels, ValueKind};
pub use store::{RowRange, RowStore, SourceKey, StoreError, StoreProblem, StoredRows};
