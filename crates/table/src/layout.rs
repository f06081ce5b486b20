//! Columns while they are laid out, and cells while they are filled.

use std::collections::{HashMap, HashSet};

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
    ) -> (Vec<Column>, Vec<Option<usize>>, Vec<String>) {
        if selected.is_empty() {
            let all = (0..self.columns.len()).map(Some).collect();
            return (self.columns, all, Vec::new());
        }
        let by_heading: HashMap<&str, usize> =
            (0..).zip(&self.columns).map(|(at, column)| (&*column.heading, at)).collect();
        let mut selection = vec![None; self.columns.len()];
        let (mut columns, mut missing, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
        for heading in selected.iter().filter(|heading| seen.insert(*heading)) {
            columns.push(if let Some(at) = by_heading.get(&**heading) {
                selection[*at] = Some(columns.len());
                self.columns[*at].clone()
            } else {
                missing.push(heading.clone());
                let heading = heading.clone();
                Column { heading, column_type: ColumnType::Text, is_answer: true }
            });
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
