//! Columns while they are laid out, and cells while they are filled.

use crate::TableOptions;
use crate::headings::Headings;
use crate::value::{ColumnType, Value};

/// Heading of the JSON cell with the answers to labels without a column.
pub const OTHER_ANSWERS: &str = "other_answers";
pub(crate) const OTHER_MEMBERS: &str = "other_members";
pub(crate) const LOCAL_TIME: &str = "created_at_local";
const RESERVED: [&str; 5] = ["id", "created_at", LOCAL_TIME, OTHER_ANSWERS, OTHER_MEMBERS];

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Column {
    /// The unique heading.
    pub heading: String,
    /// The type that all values of the column have.
    pub column_type: ColumnType,
    /// True for columns of answers; false for those of the table itself and of unknown members.
    pub is_answer: bool,
}

/// A selected heading that does not occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingColumn {
    /// The heading.
    pub heading: String,
    /// A heading that differs from it in the case of letters only.
    pub similar: Option<String>,
}

/// Columns while they are laid out.
pub(crate) struct Layout {
    pub(crate) columns: Vec<Column>,
    headings: Headings,
}

impl Layout {
    pub(crate) fn new(options: &TableOptions) -> Self {
        let headings = Headings::new(&RESERVED, options.ignore_case, options.heading_bytes);
        Self { columns: Vec::new(), headings }
    }

    /// Adds a column of the table itself.
    pub(crate) fn add_fixed(&mut self, heading: &str, column_type: ColumnType) -> usize {
        self.columns.push(Column { heading: heading.to_owned(), column_type, is_answer: false });
        self.columns.len() - 1
    }

    /// Adds a column of a label.
    pub(crate) fn add(&mut self, label: &str, column_type: ColumnType, is_answer: bool) -> usize {
        let heading = self.headings.add(label);
        self.columns.push(Column { heading, column_type, is_answer });
        self.columns.len() - 1
    }

    /// Reduces the columns to the selected ones. Also returns the selected position of each column, and
    /// the headings that do not occur.
    pub(crate) fn select(
        self,
        selected: &[String],
    ) -> (Vec<Column>, Vec<Option<usize>>, Vec<MissingColumn>) {
        if selected.is_empty() {
            let all = (0..self.columns.len()).map(Some).collect();
            return (self.columns, all, Vec::new());
        }
        let mut selection = vec![None; self.columns.len()];
        let (mut columns, mut missing): (Vec<Column>, _) = (Vec::new(), Vec::new());
        for heading in selected {
            if columns.iter().any(|column| column.heading == *heading) {
                continue;
            }
            let found = self.columns.iter().position(|column| column.heading == *heading);
            if let Some(at) = found {
                selection[at] = Some(columns.len());
                columns.push(self.columns[at].clone());
                continue;
            }
            let folded = heading.to_lowercase();
            let similar = self.columns.iter().find(|known| known.heading.to_lowercase() == folded);
            let similar = similar.map(|column| column.heading.clone());
            missing.push(MissingColumn { heading: heading.clone(), similar });
            let (heading, column_type) = (heading.clone(), ColumnType::Text);
            columns.push(Column { heading, column_type, is_answer: true });
        }
        (columns, selection, missing)
    }
}

/// The cells of a row while they are filled.
pub(crate) struct Cells<'p, 'r> {
    pub(crate) values: Vec<Value<'r>>,
    /// Position of each planned column among the selected ones.
    pub(crate) selection: &'p [Option<usize>],
}

impl<'r> Cells<'_, 'r> {
    /// Sets the cell of a planned column, unless the column is not selected.
    pub(crate) fn set(&mut self, planned: usize, value: Value<'r>) {
        if let Some(at) = self.selection[planned] {
            self.values[at] = value;
        }
    }
}
