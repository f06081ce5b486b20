//! The items of a listing as rows of cells under headings.

use formsvc_table::Cell;

use super::field::Kind;

/// A column: its heading and the kind of its cells.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) name: String,
    /// The name for `--json`.
    pub(super) field: String,
    pub(super) kind: Kind,
    pub(super) last_in_tables: bool,
}

/// Rows under headings. The cells of a row are created when the row is read, so that the cells of all rows are
/// never in memory together.
pub(super) struct Grid<'a> {
    pub(super) columns: Vec<Column>,
    rows: usize,
    row: Box<dyn Fn(usize) -> Vec<Cell<'a>> + 'a>,
}

impl<'a> Grid<'a> {
    /// Creates a grid of `rows` rows. `row` returns the cells of the row at an index.
    pub(super) fn new(
        columns: Vec<Column>,
        rows: usize,
        row: impl Fn(usize) -> Vec<Cell<'a>> + 'a,
    ) -> Self {
        Self { columns, rows, row: Box::new(row) }
    }

    #[cfg(test)]
    pub(super) fn of(columns: Vec<Column>, rows: Vec<Vec<Cell<'a>>>) -> Self {
        Self::new(columns, rows.len(), move |at| rows[at].clone())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Vec<Cell<'a>>> {
        (0..self.rows).map(|at| (self.row)(at))
    }
}
