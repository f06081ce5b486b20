//! The columns of answers, or of unknown members.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};

use formsvc_protocol::{decode_string, object_members};

use crate::labels::LabelTable;
use crate::layout::{Cells, Layout, OTHER_ANSWERS};
use crate::row::for_each_field;
use crate::value::{ColumnType, Value, join};
use crate::{ListStyle, TableOptions};

/// The labels of JSON objects and their columns.
#[derive(Debug, Default)]
pub(crate) struct Group {
    pub(crate) table: LabelTable,
    columns_max: usize,
    /// Heading and column of the values without a column of their own.
    others_heading: &'static str,
    others: Option<usize>,
    has_damaged_rows: bool,
    places: Vec<Place>,
    /// Number of placed rows with an answer that no column could take.
    pub(crate) unplaced_rows: u64,
    /// Number of placed rows with text that is not one JSON object.
    pub(crate) damaged_rows: u64,
}

/// The columns of a label.
#[derive(Debug)]
struct Place {
    /// The first column of its choices.
    choices: Option<usize>,
    /// The column of all other values.
    value: Option<usize>,
}

impl Group {
    pub(crate) fn new(
        columns_max: usize,
        others_heading: &'static str,
        pinned: HashSet<String>,
    ) -> Self {
        let table = LabelTable::new(columns_max, pinned);
        Self { table, columns_max, others_heading, ..Self::default() }
    }

    /// Counts the labels of an object and removes them from `unseen`. `choices_left` is the number of
    /// choices that may still be stored.
    pub(crate) fn observe(
        &mut self,
        object: &str,
        options: &TableOptions,
        choices_left: &mut usize,
        unseen: &mut BTreeSet<String>,
    ) {
        let Ok(members) = object_members(object) else {
            self.has_damaged_rows = true;
            return;
        };
        let labels = members.iter().map(|(label, _)| {
            let label = decode_string(label.get());
            unseen.remove(&*label);
            options.rename(label)
        });
        let fields = self.table.observe_row(labels);
        for (field, (_, value)) in fields.into_iter().zip(members) {
            let Some(field) = field.map(|at| &mut self.table.fields[at]) else { continue };
            field.types.add(value.get());
            if options.lists == ListStyle::Columns {
                field.choices.observe(value.get(), choices_left);
            }
        }
    }

    /// Chooses the most common labels and adds their columns.
    pub(crate) fn lay_out(&mut self, layout: &mut Layout) {
        self.table.retain_most_common(self.columns_max);
        let is_answer = self.others_heading == OTHER_ANSWERS;
        // Columns that may be added for choices.
        let mut left = self.columns_max.saturating_sub(self.table.fields.len());
        for field in &self.table.fields {
            let (label, choices) = (&field.label, &field.choices);
            let needed = choices.texts.len() + usize::from(choices.has_other_answers);
            let splits = !choices.texts.is_empty() && needed <= left + 1;
            let first_choice = splits.then_some(layout.columns.len());
            if splits {
                left = left + 1 - needed;
                for choice in &choices.texts {
                    layout.add(&format!("{label}: {choice}"), ColumnType::Boolean, is_answer);
                }
            }
            let value = (!splits || choices.has_other_answers)
                .then(|| layout.add(label, field.types.column_type(), is_answer));
            self.places.push(Place { choices: first_choice, value });
        }
        if self.table.left_out > 0 || self.has_damaged_rows {
            self.others = Some(layout.add_fixed(self.others_heading, ColumnType::Text));
        }
    }

    /// Sets the cells of an object.
    pub(crate) fn place<'r>(
        &mut self,
        object: &'r str,
        cells: &mut Cells<'_, 'r>,
        options: &TableOptions,
    ) {
        let mut others = String::new();
        self.table.begin_row();
        let valid = for_each_field(object, |label, value| {
            let field = self.table.locate(&options.rename(decode_string(label)));
            let is_placed = field.is_some_and(|field| self.set(field, value, cells, options));
            if !is_placed {
                others.push(if others.is_empty() { '{' } else { ',' });
                others.extend([label, ":", value]);
            }
        });
        let value = match valid {
            // The service never sends this, but a stored row may have been edited.
            Err(_) => {
                self.damaged_rows += 1;
                Value::Text(object.into())
            }
            Ok(()) if others.is_empty() => return,
            Ok(()) => Value::Json((others + "}").into()),
        };
        match self.others {
            Some(column) => cells.set(column, value),
            None => self.unplaced_rows += 1,
        }
    }

    /// Sets the cells of a label. Returns false if it has no column for the value.
    fn set<'r>(
        &self,
        field: usize,
        value: &'r str,
        cells: &mut Cells<'_, 'r>,
        options: &TableOptions,
    ) -> bool {
        let Place { choices, value: column } = &self.places[field];
        let known = &self.table.fields[field].choices;
        if let Some((first, chosen)) = choices.and_then(|at| Some((at, known.chosen(value)?))) {
            for at in 0..known.texts.len() {
                cells.set(first + at, Value::Boolean(chosen.contains(&at)));
            }
            return true;
        }
        if let Some(column) = column {
            let joined = if options.lists == ListStyle::Join { join(value) } else { None };
            cells.set(*column, joined.unwrap_or_else(|| Value::parse(value)));
        }
        column.is_some() || value == "null"
    }
}

impl TableOptions {
    /// Returns the new name of a label if it has one.
    fn rename<'a>(&'a self, label: Cow<'a, str>) -> Cow<'a, str> {
        self.column_map.get(&*label).map_or(label, Into::into)
    }
}
