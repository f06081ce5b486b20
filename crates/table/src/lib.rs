//! Submissions as tables: columns from labels, cells from answers, CSV and JSON.
//!
//! Pure, except that [`CsvWriter`] and [`JsonWriter`] write to any [`Write`](std::io::Write).
//!
//! | Concept | Item |
//! |---|---|
//! | the columns of stored rows, in two passes | [`ColumnCollector`], [`ColumnPlan`], [`TableOptions`] |
//! | the value of a cell, the type of a column | [`Value`], [`ColumnType`], [`TypeSet`] |
//! | unique names of columns | [`Headings`] |
//! | positions of labels in a database | [`LabelSet`] |
//! | the text of an answer | [`Cell`], [`cell()`] |
//! | text that a spreadsheet would run as a formula | [`needs_guard`], [`guarded`] |
//! | rows as CSV, quoted as in RFC 4180 | [`CsvWriter`] |
//! | rows as JSON, byte for byte | [`JsonWriter`] |

mod choices;
mod csv_writer;
mod group;
mod guard;
mod headings;
mod json_writer;
mod label_set;
mod labels;
mod layout;
mod options;
mod plan;
mod row;
mod value;

pub use csv_writer::{CsvOptions, CsvWriter, EXCEL_CELL_MAX, excel_prefix, is_long};
pub use guard::{guarded, needs_guard};
pub use headings::Headings;
pub use json_writer::JsonWriter;
pub use label_set::{EncodedRow, FIXED_HEADINGS, LabelLimits, LabelSet, StoredLabel};
pub use layout::{Column, MissingColumn, OTHER_ANSWERS};
pub use options::{ListStyle, TableOptions};
pub use plan::{ColumnCollector, ColumnPlan};
pub use row::{StoredRow, for_each_field};
pub use value::{Cell, ColumnType, TypeSet, Value, cell, exact_double, exact_integer};
