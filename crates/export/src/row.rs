//! Rows to render.

use formsvc_table::StoredRow;

use crate::error::ExportError;

/// Takes a submission; an error ends the reading.
pub type RowCallback<'a> = &'a mut (dyn FnMut(StoredRow<'_>) -> Result<(), ExportError> + 'a);

/// Stored submissions by instant, newest first, then by id.
pub trait RowSource {
    /// Calls `row` with each submission until it returns an error. Every call gives the same rows in
    /// the same order.
    fn for_each(&self, row: RowCallback<'_>) -> Result<(), ExportError>;
}

impl RowSource for Vec<StoredRow<'_>> {
    fn for_each(&self, row: RowCallback<'_>) -> Result<(), ExportError> {
        self.iter().try_for_each(|stored| row(*stored))
    }
}
