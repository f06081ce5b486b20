//! Submissions as tables: which labels are columns, what the cells contain, and CSV.
//!
//! Pure, except that [`CsvWriter`] writes to any [`Write`](std::io::Write).
//!
//! | Concept | Item |
//! |---|---|
//! | one column for each label, in the form's order | [`Columns`] |
//! | the text of an answer | [`Cell`], [`cell()`] |
//! | text that a spreadsheet would run as a formula | [`needs_guard`], [`guarded`] |
//! | rows as CSV (RFC 4180) | [`CsvWriter`] |

mod cell;
mod columns;
mod csv_writer;
mod guard;

pub use cell::{Cell, cell};
pub use columns::Columns;
pub use csv_writer::CsvWriter;
pub use guard::{guarded, needs_guard};
