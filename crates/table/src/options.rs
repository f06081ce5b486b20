//! Options of a table.

use std::collections::HashMap;

use jiff::tz::TimeZone;

/// How submissions become a table.
#[derive(Clone, Debug)]
pub struct TableOptions {
    /// Number of columns of answers. The answers to further labels share one JSON cell per row.
    pub max_columns: usize,
    /// How lists are written.
    pub lists: ListStyle,
    /// Adds the column `created_at_local` with the time in this zone.
    pub time_zone: Option<TimeZone>,
    /// Exactly these columns, by heading and in this order; all columns if empty. A heading that does
    /// not occur becomes an empty column.
    pub columns: Vec<String>,
    /// New labels of labels. Two labels with the same new label share a column; a submission that has
    /// both gets a further column.
    pub column_map: HashMap<String, String>,
    /// Headings differ in more than the case of letters, as SQLite and DuckDB require.
    pub ignore_case: bool,
    /// Bytes of a heading at most, its number included; longer labels are cut.
    pub heading_bytes: usize,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            max_columns: 2_500,
            lists: ListStyle::Json,
            time_zone: None,
            columns: Vec::new(),
            column_map: HashMap::new(),
            ignore_case: false,
            heading_bytes: usize::MAX,
        }
    }
}

/// How lists are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListStyle {
    /// One cell of JSON text.
    #[default]
    Json,
    /// The items, separated by `; `. A list with a nested item, a null, or an item that contains `;`
    /// stays JSON text, so that a joined cell can be split again.
    Join,
    /// One column per choice with `true` or `false`, named `Label: choice`. Answers that are no such
    /// list, or that repeat a choice, are JSON text in a column `Label` of their own. A label with more
    /// than 100 choices, or a choice of more than 200 bytes, has that column only.
    Columns,
}
