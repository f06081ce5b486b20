#![doc = include_str!("../README.md")]

mod compress;
mod destination;
mod error;
mod export;
mod format;
mod old;
mod partition;
mod remark;
mod render;
mod row;
mod schema;
mod stream;

pub use compress::Compression;
pub use destination::{Destination, Existing, WorkingFiles};
pub use error::{ExportError, Operation};
pub use export::{Progress, export, export_csv};
pub use format::{CsvProfile, FORMATS, FileFormat, Format, FormatRow, SourceInfo};
pub use formsvc_table::{ListStyle, StoredRow, TableOptions};
pub use old::{Options, RecordWriter, Written, writer};
pub use partition::render_months;
pub use remark::Remark;
pub use render::{RenderOptions, Rendered, RowFilter, render};
pub use row::RowSource;
pub use schema::{DISTINCT_MAX, LABELS_MAX, Label, Rename, Schema, TooManyLabels, ValueKind};
pub use stream::RowStream;
