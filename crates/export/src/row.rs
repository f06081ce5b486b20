//! Stored submissions, as formats read them.

use crate::error::ExportError;

/// A stored submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRow<'a> {
    /// The identifier.
    pub id: &'a str,
    /// The time at which it was made, as the service sent it.
    pub created_at: &'a str,
    /// The same time in microseconds since 1970.
    pub instant: i64,
    /// The exact JSON text of the answers.
    pub data: &'a str,
    /// A JSON object of the members that this release does not know; may be empty text.
    pub extra: &'a str,
}

/// Rows by `instant` descending, then `id`; can be read several times.
pub trait RowSource {
    /// Calls a function for each row, until it fails.
    fn for_each(
        &self,
        row: &mut dyn FnMut(StoredRow<'_>) -> Result<(), ExportError>,
    ) -> Result<(), ExportError>;
}
