//! Columns of a table, known before its first row is written.
//!
//! Two passes over the same rows: [`ColumnCollector::observe`] each row, newest first, then
//! [`ColumnPlan::cells`] for each row. The columns depend only on the set of rows and their order.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use formsvc_protocol::decode_string;

use crate::headings::Headings;
use crate::labels::LabelTable;
use crate::row::for_each_field;
use crate::value::{ColumnType, Value};
use crate::{ListStyle, StoredRow, TableOptions};

/// Columns of unknown members at most. The service sends few; answers never get here.
const MEMBERS_MAX: usize = 100;
/// Choices that are stored at most while columns are collected, over all labels.
const CHOICES_MAX: usize = 10_000;

/// Heading of the JSON cell with the answers to labels without a column.
pub const OTHER_ANSWERS: &str = "other_answers";
const OTHER_MEMBERS: &str = "other_members";
const LOCAL_TIME: &str = "created_at_local";
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

/// Collects the columns of rows in a first pass.
#[derive(Debug)]
pub struct ColumnCollector {
    options: TableOptions,
    answers: LabelTable,
    members: LabelTable,
    choices_left: usize,
    has_others: bool,
    values: Vec<TextRange>,
}

/// Offset and length of a value in its row's text.
type TextRange = (usize, usize);

impl ColumnCollector {
    /// Creates a collector without rows.
    pub fn new(options: TableOptions) -> Self {
        let pinned: HashSet<String> =
            options.columns.iter().flat_map(|name| labels(name)).collect();
        Self {
            answers: LabelTable::new(options.max_columns, pinned.clone()),
            members: LabelTable::new(MEMBERS_MAX, pinned),
            options,
            choices_left: CHOICES_MAX,
            has_others: false,
            values: Vec::new(),
        }
    }

    /// Takes the labels of a row. Rows come newest first.
    pub fn observe(&mut self, row: &StoredRow<'_>) {
        self.answers.begin_row();
        self.values.clear();
        let Self { answers, options, values, has_others, .. } = self;
        let start = row.data.as_ptr() as usize;
        let valid = for_each_field(row.data, |label, value| {
            let label = decode_string(label);
            let is_counted = answers.observe(options.map(&label), values.len());
            *has_others |= !is_counted;
            values.push((value.as_ptr() as usize - start, value.len()));
        });
        self.has_others |= valid.is_err();
        let (values, choices_left) = (&self.values, &mut self.choices_left);
        let splits_lists = self.options.lists == ListStyle::Columns;
        self.answers.end_row(|field, position| {
            let (start, length) = values[position];
            let value = &row.data[start..start + length];
            field.types.add(value);
            if splits_lists {
                field.choices.observe(value, choices_left);
            }
        });
        if !row.extra.is_empty() {
            self.observe_members(row.extra);
        }
    }

    fn observe_members(&mut self, extra: &str) {
        self.members.begin_row();
        let mut values = Vec::new();
        let members = &mut self.members;
        let valid = for_each_field(extra, |name, value| {
            members.observe(&decode_string(name), values.len());
            values.push(value);
        });
        self.members.end_row(|field, position| field.types.add(values[position]));
        self.members.left_out += u64::from(valid.is_err());
    }

    /// Decides on the columns.
    pub fn finish(mut self) -> ColumnPlan {
        self.answers.retain_most_common(self.options.max_columns, usize::MAX);
        self.members.retain_most_common(MEMBERS_MAX, usize::MAX);
        let mut plan = PlanBuilder::new(&self.options);
        plan.add_fixed("id", ColumnType::Text);
        plan.add_fixed("created_at", ColumnType::Time);
        let local_time =
            self.options.time_zone.is_some().then(|| plan.add_fixed(LOCAL_TIME, ColumnType::Text));
        let mut left = self.options.max_columns.saturating_sub(self.answers.fields.len());
        let answers = (0..self.answers.fields.len())
            .map(|at| plan.add_answer(&self.answers, at, &mut left))
            .collect();
        let members = (0..self.members.fields.len())
            .map(|at| {
                let column_type = self.members.fields[at].types.column_type();
                plan.add_label(self.members.text(at), column_type, false)
            })
            .collect();
        let has_others = self.has_others || self.answers.left_out > 0;
        let others = has_others.then(|| plan.add_fixed(OTHER_ANSWERS, ColumnType::Text));
        let has_other_members = self.members.left_out > 0;
        let other_members =
            has_other_members.then(|| plan.add_fixed(OTHER_MEMBERS, ColumnType::Text));
        let (columns, selection, missing) = plan.select(&self.options.columns);
        ColumnPlan {
            columns,
            selection,
            answer_places: answers,
            member_places: members,
            local_time,
            others,
            other_members,
            left_out: self.answers.left_out,
            missing,
            unplaced: 0,
            damaged_rows: 0,
            answers: self.answers,
            members: self.members,
            options: self.options,
        }
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

impl TableOptions {
    fn map<'a>(&'a self, label: &'a str) -> &'a str {
        self.column_map.get(label).map_or(label, String::as_str)
    }
}

/// Columns while they are laid out.
struct PlanBuilder {
    columns: Vec<Column>,
    headings: Headings,
}

/// The columns of a label.
#[derive(Debug)]
struct Place {
    /// The first column of its choices.
    choices: Option<usize>,
    /// The column of all other answers.
    value: Option<usize>,
}

impl PlanBuilder {
    fn new(options: &TableOptions) -> Self {
        Self {
            columns: Vec::new(),
            headings: Headings::new(&RESERVED, options.ignore_case, options.heading_bytes),
        }
    }

    fn push(&mut self, heading: String, column_type: ColumnType, is_answer: bool) -> usize {
        self.columns.push(Column { heading, column_type, is_answer });
        self.columns.len() - 1
    }

    fn add_fixed(&mut self, heading: &str, column_type: ColumnType) -> usize {
        self.push(heading.to_owned(), column_type, false)
    }

    fn add_label(&mut self, label: &str, column_type: ColumnType, is_answer: bool) -> usize {
        let heading = self.headings.add(label);
        self.push(heading, column_type, is_answer)
    }

    /// Adds the columns of a label; `left` is the number of columns that may be added for choices.
    fn add_answer(&mut self, answers: &LabelTable, at: usize, left: &mut usize) -> Place {
        let (field, label) = (&answers.fields[at], answers.text(at));
        let needed = field.choices.texts.len() + usize::from(field.choices.has_other_answers);
        let splits = !field.choices.texts.is_empty() && needed <= *left + 1;
        let mut place = Place { choices: splits.then_some(self.columns.len()), value: None };
        if splits {
            *left = *left + 1 - needed;
            for choice in &field.choices.texts {
                self.add_label(&format!("{label}: {choice}"), ColumnType::Boolean, true);
            }
        }
        if !splits || field.choices.has_other_answers {
            let column_type = field.types.column_type();
            place.value = Some(self.add_label(label, column_type, true));
        }
        place
    }

    /// Reduces the columns to the selected ones. Also returns the selected position of each column, and
    /// the headings that do not occur.
    fn select(self, selected: &[String]) -> (Vec<Column>, Vec<Option<usize>>, Vec<String>) {
        if selected.is_empty() {
            let all = (0..self.columns.len()).map(Some).collect();
            return (self.columns, all, Vec::new());
        }
        let by_heading: HashMap<&str, usize> =
            (0..).zip(&self.columns).map(|(at, column)| (&*column.heading, at)).collect();
        let mut selection = vec![None; self.columns.len()];
        let (mut columns, mut missing) = (Vec::<Column>::new(), Vec::new());
        for heading in selected {
            let known = by_heading.get(&**heading).copied();
            let column = known.map_or_else(
                || Column {
                    heading: heading.clone(),
                    column_type: ColumnType::Text,
                    is_answer: true,
                },
                |at| self.columns[at].clone(),
            );
            let is_repeated = columns.iter().any(|other| other.heading == column.heading);
            if !is_repeated {
                match known {
                    Some(at) => selection[at] = Some(columns.len()),
                    None => missing.push(heading.clone()),
                }
                columns.push(column);
            }
        }
        (columns, selection, missing)
    }
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
    answers: LabelTable,
    answer_places: Vec<Place>,
    members: LabelTable,
    member_places: Vec<usize>,
    local_time: Option<usize>,
    others: Option<usize>,
    other_members: Option<usize>,
    left_out: u64,
    missing: Vec<String>,
    unplaced: u64,
    damaged_rows: u64,
    options: TableOptions,
}

impl ColumnPlan {
    /// Returns the columns, in order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the number of labels without a column; their answers are in `other_answers`. A label of
    /// a flood that was forgotten and occurred again counts again.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the selected headings that do not occur; their columns are empty.
    pub fn missing_columns(&self) -> &[String] {
        &self.missing
    }

    /// Returns the number of answers that no column could take: 0 unless the rows of the second pass
    /// were not those of the first.
    pub fn unplaced(&self) -> u64 {
        self.unplaced
    }

    /// Returns the number of rows with stored text that is not a JSON object; the text is in `other_answers` or
    /// `other_members`.
    pub fn damaged_rows(&self) -> u64 {
        self.damaged_rows
    }

    /// Returns the cells of a row, one for each column.
    pub fn cells<'r>(&mut self, row: &StoredRow<'r>) -> Vec<Value<'r>> {
        let mut cells =
            Cells { values: vec![Value::Empty; self.columns.len()], selection: &self.selection };
        cells.set(Some(0), Value::Text(row.id.into()));
        cells.set(Some(1), Value::Time(row.created_at, row.instant));
        if let Some(zone) = &self.options.time_zone {
            cells.set(self.local_time, local_time(row, zone));
        }
        let mut others = Others::default();
        let mut hint = if self.answers.fields.is_empty() { None } else { Some(0) };
        self.answers.begin_row();
        let valid = for_each_field(row.data, |label, value| {
            let text = decode_string(label);
            let Some(field) = self.answers.locate(self.options.map(&text), hint) else {
                others.push(label, value);
                return;
            };
            hint = self.answers.after(field);
            let place = &self.answer_places[field];
            let chosen = place
                .choices
                .and_then(|first| Some((first, self.answers.fields[field].choices.chosen(value)?)));
            if let Some((first, chosen)) = chosen {
                let count = self.answers.fields[field].choices.texts.len();
                for at in 0..count {
                    cells.set(Some(first + at), Value::Boolean(chosen.contains(&at)));
                }
            } else if place.value.is_some() {
                cells.set(place.value, Value::parse_answer(value, self.options.lists));
            } else if value != "null" {
                others.push(label, value);
            }
        });
        let mut is_damaged = valid.is_err();
        if is_damaged {
            // Never from a service; a stored row may have been edited.
            cells.set(self.others, Value::Text(row.data.into()));
        } else if let Some(json) = others.into_value() {
            self.unplaced += u64::from(self.others.is_none());
            cells.set(self.others, json);
        }
        if !row.extra.is_empty() {
            let mut others = Others::default();
            self.members.begin_row();
            let valid = for_each_field(row.extra, |name, value| {
                match self.members.locate(&decode_string(name), None) {
                    Some(field) => {
                        let value = Value::parse_answer(value, self.options.lists);
                        cells.set(Some(self.member_places[field]), value);
                    }
                    None => others.push(name, value),
                }
            });
            if valid.is_err() {
                is_damaged = true;
                cells.set(self.other_members, Value::Text(row.extra.into()));
            } else if let Some(json) = others.into_value() {
                self.unplaced += u64::from(self.other_members.is_none());
                cells.set(self.other_members, json);
            }
        }
        self.damaged_rows += u64::from(is_damaged);
        cells.values
    }
}

/// The cells of a row while they are filled.
struct Cells<'p, 'r> {
    values: Vec<Value<'r>>,
    selection: &'p [Option<usize>],
}

impl<'r> Cells<'_, 'r> {
    /// Sets the cell of a planned column, unless the column is not selected.
    fn set(&mut self, planned: Option<usize>, value: Value<'r>) {
        if let Some(at) = planned.and_then(|at| self.selection[at]) {
            self.values[at] = value;
        }
    }
}

/// The answers of a row that have no column, as a JSON object.
#[derive(Default)]
struct Others(String);

impl Others {
    fn push(&mut self, label: &str, value: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push_str(label);
        self.0.push(':');
        self.0.push_str(value);
    }

    fn into_value(mut self) -> Option<Value<'static>> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push('}');
        Some(Value::Json(Cow::Owned(self.0)))
    }
}

/// Returns the time of a row in a zone, in milliseconds with the offset; empty outside the years 0 to
/// 9999.
fn local_time(row: &StoredRow<'_>, zone: &jiff::tz::TimeZone) -> Value<'static> {
    let time =
        jiff::Timestamp::from_microsecond(row.instant).map(|time| time.to_zoned(zone.clone()));
    time.map_or(Value::Empty, |time| {
        Value::Text(time.strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string().into())
    })
}
