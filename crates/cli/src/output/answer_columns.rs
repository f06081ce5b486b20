//! Columns for the answers in a list of submissions: selects the labels with columns and returns the cells.

use std::cell::RefCell;

use formsvc_table::{Cell, ColumnCollector, ColumnPlan, StoredRow, TableOptions, Value};

/// The first two columns of every plan. They are skipped here, because a listing has its own columns for them.
const OWN: [&str; 2] = ["id", "created_at"];

/// Largest number of labels with columns, the same as in an export. The other answers of a row form one JSON
/// object in the column `other_answers`.
pub(super) const LABELS_MAX: usize = 2_500;

/// The columns for the labels of the submissions in a list.
#[derive(Debug, Default)]
pub(super) struct AnswerColumns {
    /// `None` if no labels get columns.
    plan: Option<RefCell<ColumnPlan>>,
    names: Vec<String>,
    missing: Vec<String>,
}

impl AnswerColumns {
    /// Creates columns for `labels`, in this order. If `labels` is empty, creates columns for the most common
    /// labels. `submissions` contains the answers as JSON objects, newest first.
    pub(super) fn new<'a>(
        submissions: impl Iterator<Item = &'a str>,
        labels: &[String],
        labels_max: usize,
    ) -> Self {
        let mut options = TableOptions { max_columns: labels_max, ..TableOptions::default() };
        if !labels.is_empty() {
            options.columns = OWN.map(str::to_owned).into_iter().chain(labels.to_vec()).collect();
        }
        let mut collector = ColumnCollector::new(options);
        submissions.for_each(|object| collector.observe(&row(object)));
        let plan = collector.finish();
        let columns = plan.columns().iter().skip(OWN.len());
        let names = columns.map(|column| column.heading.clone()).collect();
        Self {
            names,
            missing: plan.missing_columns().iter().map(|column| column.heading.clone()).collect(),
            plan: Some(RefCell::new(plan)),
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the requested labels that no submission has.
    pub(super) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the cells of a submission's answers, one for each column.
    pub(super) fn cells<'r>(&self, object: &'r str) -> Vec<Cell<'r>> {
        let Some(plan) = &self.plan else { return Vec::new() };
        let cells = plan.borrow_mut().cells(&row(object)).into_iter();
        cells.skip(OWN.len()).map(Value::into_cell).collect()
    }
}

/// Creates a row that contains only answers.
fn row(data: &str) -> StoredRow<'_> {
    StoredRow { id: "", created_at: "", instant: 0, data, extra: "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(rows: &[&str], labels_max: usize) -> AnswerColumns {
        AnswerColumns::new(rows.iter().copied(), &[], labels_max)
    }

    fn texts(columns: &AnswerColumns, row: &str) -> Vec<String> {
        columns.cells(row).into_iter().map(|cell| cell.text.into_owned()).collect()
    }

    #[test]
    fn labels_within_the_limit_all_get_columns() {
        let rows = [r#"{"a":1,"c":[1, 2]}"#, r#"{"a":2,"b":"x","c":3,"a":4,"id":5}"#];
        let columns = columns(&rows, 5);
        assert_eq!(columns.names(), ["a", "b", "c", "a (2)", "id (2)"]);
        assert_eq!(texts(&columns, rows[0]), ["1", "", "[1, 2]", "", ""]);
        assert_eq!(texts(&columns, rows[1]), ["2", "x", "3", "4", "5"]);
    }

    #[test]
    fn labels_beyond_the_limit_share_one_json_cell() {
        let rows = [
            r#"{"flood1":1.50,"name":"Ada","flood\u0032":"\u00e9"}"#,
            r#"{"name":"Bob","age":7}"#,
            r#"{"age":8,"name":"Cy"}"#,
        ];
        let files = columns(&rows, 2);
        assert_eq!(files.names(), ["name", "age", "other_answers"]);
        let others = r#"{"flood1":1.50,"flood\u0032":"\u00e9"}"#;
        assert_eq!(texts(&files, rows[0]), ["Ada", "", others]);
        assert_eq!(texts(&files, rows[1]), ["Bob", "7", ""]);
    }

    #[test]
    fn chosen_labels_are_the_only_columns() {
        let labels = ["b", "id (2)", "gone"].map(str::to_owned);
        let row = r#"{"a":1,"id":2,"b":3,"b":4}"#;
        let columns = AnswerColumns::new([row].into_iter(), &labels, 1);
        assert_eq!(columns.names(), labels);
        assert_eq!(texts(&columns, row), ["3", "2", ""]);
        assert_eq!(columns.missing(), ["gone"]);
    }
}
