#![doc = include_str!("../README.md")]

mod blocking;
mod compress;
mod coverage;
mod destination;
mod error;
mod export;
mod file_format;
mod format;
mod left_out;
mod lock;
mod partition;
mod pull;
mod remark;
mod render;
mod row;
mod spool;
mod sql;
mod store;
mod sync;

pub use coverage::{Coverage, Interval};
pub use destination::{Destination, Existing, WorkingFiles};
#[cfg(feature = "postgres")]
pub use error::PostgresError;
pub use error::{ExportError, Operation, StoreError, StoreProblem, SyncError, Unsupported};
pub use export::{Estimate, EstimatedNumbers, Export, ExportEvent, Exported};
pub use file_format::{Compression, FORMATS, FileFormat, Format, FormatRow};
pub use format::{RenderOptions, RowFilter, SourceInfo};
pub use formsvc_table::{CsvOptions, ListStyle, MissingColumn, StoredRow, TableOptions};
pub use left_out::LeftOut;
pub use partition::{MonthFolder, Output};
pub use pull::{PullOptions, PullProgress, PullSummary};
pub use remark::Remark;
pub use render::{Rendered, render};
pub use row::{RowCallback, RowSource};
pub use spool::{SpoolContent, SpoolFolder, SpoolInfo};
pub use store::{RowRange, SyncStatus, ViewChanges};
pub use sync::{FormRows, SyncStore, SyncSummary, SyncTarget, VerifyOptions, VerifySummary};
