#![doc = include_str!("../README.md")]

mod compress;
mod coverage;
mod destination;
mod error;
mod export;
mod format;
mod lock;
mod manifest;
mod partition;
mod pull;
mod remark;
mod render;
mod row;
mod spool;
mod sql;
mod store;
#[cfg_attr(
    not(feature = "postgres"),
    expect(clippy::unused_async, reason = "SQLite alone needs no await")
)]
mod sync;

pub use compress::Compression;
pub use coverage::{Coverage, Interval};
pub use destination::{Destination, Existing, WorkingFiles};
pub use error::{ExportError, Operation};
pub use export::{Export, ExportEvent, Exported, export_csv, export_stream};
pub use format::{FORMATS, FileFormat, Format, FormatRow, SourceInfo, is_catching_panics};
pub use formsvc_table::{CsvOptions, ListStyle, MissingColumn, StoredRow, TableOptions};
pub use partition::{MonthFolder, Output};
pub use pull::{PullOptions, PullProgress, PullSummary, pull};
pub use remark::Remark;
pub use render::{RenderOptions, Rendered, RowFilter, render};
pub use row::{RowCallback, RowSource};
pub use spool::{SpoolContent, SpoolFolder, SpoolInfo};
pub use store::{RowRange, RowStore, SourceKey, StoreError, StoreProblem, StoredRows};
#[cfg(feature = "postgres")]
pub use sync::PostgresError;
pub use sync::{
    FormRows, SyncError, SyncStatus, SyncStore, SyncSummary, SyncTarget, VerifyOptions,
    VerifySummary, ViewChanges,
};
