//! Columns of a table, known before its first row is written.
//!
//! Two passes over the same rows: [`ColumnCollector::observe`] each row, newest first, then
//! [`ColumnPlan::cells`] for each row. The columns depend only on the set of rows and their order.

use std::collections::{BTreeSet, HashSet};

use crate::group::Group;
use crate::layout::{
    Cells, Column, LOCAL_TIME, Layout, MissingColumn, OTHER_ANSWERS, OTHER_MEMBERS,
};
use crate::value::{ColumnType, Value};
use crate::{StoredRow, TableOptions};

/// Columns of unknown members at most. The service sends few; answers never get here.
const MEMBERS_MAX: usize = 100;
/// Choices that are stored at most while columns are collected, over all labels.
const CHOICES_MAX: usize = 10_000;

/// Collects the columns of rows in a first pass.
#[derive(Debug)]
pub struct ColumnCollector {
    options: TableOptions,
    answers: Group,
    members: Group,
    choices_left: usize,
    /// The labels with a new name that no row had so far.
    unseen: BTreeSet<String>,
}

impl ColumnCollector {
    /// Creates a collector without rows.
    pub fn new(options: TableOptions) -> Self {
        let pinned: HashSet<String> =
            options.columns.iter().flat_map(|name| labels(name)).collect();
        Self {
            answers: Group::new(options.max_columns, OTHER_ANSWERS, pinned.clone()),
            members: Group::new(MEMBERS_MAX, OTHER_MEMBERS, pinned),
            unseen: options.column_map.keys().cloned().collect(),
            options,
            choices_left: CHOICES_MAX,
        }
    }

    /// Takes the labels of a row. Rows come newest first.
    pub fn observe(&mut self, row: &StoredRow<'_>) {
        let Self { options, answers, members, choices_left, unseen } = self;
        answers.observe(row.data, options, choices_left, unseen);
        if !row.extra.is_empty() {
            members.observe(row.extra, options, choices_left, unseen);
        }
    }

    /// Decides on the columns.
    pub fn finish(mut self) -> ColumnPlan {
        let mut layout = Layout::new(&self.options);
        layout.add_fixed("id", ColumnType::Text);
        layout.add_fixed("created_at", ColumnType::Time);
        if self.options.time_zone.is_some() {
            layout.add_fixed(LOCAL_TIME, ColumnType::Text);
        }
        self.answers.lay_out(&mut layout);
        self.members.lay_out(&mut layout);
        let (columns, selection, missing) = layout.select(&self.options.columns);
        ColumnPlan { columns, selection, missing, labels: self }
    }
}

/// The labels that may have a heading: itself, and without a number (`Name (2)` is of `Name`) or a
/// choice (`Name: choice`).
fn labels(heading: &str) -> Vec<String> {
    let numbered = heading.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
    let choices = heading.match_indices(": ").map(|(at, _)| &heading[..at]);
    let shorter = numbered.map(|(label, _)| label).into_iter().chain(choices);
    std::iter::once(heading).chain(shorter).map(str::to_owned).collect()
}

/// The columns of a table.
///
/// ```
/// use formsvc_table::{ColumnCollector, StoredRow, TableOptions};
/// let rows = [r#"{"Name":"Ada","Age":41}"#, r#"{"Name":"Bo","Town":"Ulm"}"#].map(|data| StoredRow {
///     id: "sub_1",
///     created_at: "2026-01-31T09:30:00.120Z",
///     instant: 1_769_851_800_120_000,
///     data,
///     extra: "",
/// });
/// let mut collector = ColumnCollector::new(TableOptions::default());
/// rows.iter().for_each(|row| collector.observe(row));
/// let mut plan = collector.finish();
/// let headings: Vec<_> = plan.columns().iter().map(|column| &*column.heading).collect();
/// assert_eq!(headings, ["id", "created_at", "Name", "Town", "Age"]);
/// let cells = plan.cells(&rows[1]);
/// assert_eq!(cells.iter().map(|cell| cell.text()).collect::<Vec<_>>()[2..], ["Bo", "Ulm", ""]);
/// ```
#[derive(Debug)]
pub struct ColumnPlan {
    columns: Vec<Column>,
    /// Position of each planned column among the selected ones.
    selection: Vec<Option<usize>>,
    missing: Vec<MissingColumn>,
    labels: ColumnCollector,
}

impl ColumnPlan {
    /// Returns the columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the number of labels without a column; their answers are in `other_answers`. A label that
    /// was forgotten, or that is too long, counts each time.
    pub fn left_out(&self) -> u64 {
        self.labels.answers.table.left_out
    }

    /// Returns the selected headings that do not occur; their columns are empty.
    pub fn missing_columns(&self) -> &[MissingColumn] {
        &self.missing
    }

    /// Returns the labels of [`TableOptions::column_map`] that do not occur, in alphabetical order.
    pub fn unused_renames(&self) -> Vec<String> {
        self.labels.unseen.iter().cloned().collect()
    }

    /// Returns the number of rows with an answer that no column could take: 0 unless the rows of the
    /// second pass were not those of the first.
    pub fn unplaced(&self) -> u64 {
        self.labels.answers.unplaced_rows + self.labels.members.unplaced_rows
    }

    /// Returns the number of rows with stored text that is not a JSON object; the text is in
    /// `other_answers` or `other_members`.
    pub fn damaged_rows(&self) -> u64 {
        self.labels.answers.damaged_rows + self.labels.members.damaged_rows
    }

    /// Returns the cells of a row, one for each column.
    pub fn cells<'r>(&mut self, row: &StoredRow<'r>) -> Vec<Value<'r>> {
        let ColumnCollector { options, answers, members, .. } = &mut self.labels;
        let values = vec![Value::Empty; self.columns.len()];
        let mut cells = Cells { values, selection: &self.selection };
        cells.set(0, Value::Text(row.id.into()));
        cells.set(1, Value::Time(row.created_at, row.instant));
        if let Some(zone) = &options.time_zone {
            cells.set(2, local_time(row, zone));
        }
        answers.place(row.data, &mut cells, options);
        if !row.extra.is_empty() {
            members.place(row.extra, &mut cells, options);
        }
        cells.values
    }
}

/// Returns the time of a row in a zone, in milliseconds with the offset; empty for times that
/// [`jiff::Timestamp`] does not have, which are those after 9999-12-30T22:00:01Z and before the year -9999.
fn local_time(row: &StoredRow<'_>, zone: &jiff::tz::TimeZone) -> Value<'static> {
    let time =
        jiff::Timestamp::from_microsecond(row.instant).map(|time| time.to_zoned(zone.clone()));
    time.map_or(Value::Empty, |time| {
        Value::Text(time.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string().into())
    })
}
