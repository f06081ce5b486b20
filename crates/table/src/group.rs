//! The columns of answers, or of unknown members.

use std::collections::HashSet;

use formsvc_protocol::decode_string;

use crate::labels::LabelTable;
use crate::layout::{Cells, Layout, OTHER_ANSWERS};
use crate::row::for_each_field;
use crate::value::{ColumnType, Value};
use crate::{ListStyle, TableOptions};

/// The labels of JSON objects and their columns.
#[derive(Debug)]
pub(crate) struct Group {
    table: LabelTable,
    columns_max: usize,
    /// Heading and column of the values without a column of their own.
    others_heading: &'static str,
    others: Option<usize>,
    has_damaged_rows: bool,
    places: Vec<Place>,
}

/// The columns of a label.
#[derive(Debug)]
struct Place {
    /// The first column of its choices.
    choices: Option<usize>,
    /// The column of all other values.
    value: Option<usize>,
}

/// Outcome of placing a row.
#[derive(Debug, Default)]
pub(crate) struct Placed {
    /// Some values have no column.
    pub(crate) is_incomplete: bool,
    /// The text is not one JSON object.
    pub(crate) is_damaged: bool,
}

impl Group {
    pub(crate) fn new(
        columns_max: usize,
        others_heading: &'static str,
        pinned: HashSet<String>,
    ) -> Self {
        let table = LabelTable::new(columns_max, pinned);
        Self {
            table,
            columns_max,
            others_heading,
            others: None,
            has_damaged_rows: false,
            places: Vec::new(),
        }
    }

    pub(crate) fn left_out(&self) -> u64 {
        self.table.left_out
    }

    /// Counts the labels of an object. `choices_left` is the number of choices that may still be stored.
    pub(crate) fn observe(
        &mut self,
        object: &str,
        options: &TableOptions,
        choices_left: &mut usize,
    ) {
        let mut values = Vec::new();
        self.table.begin_row();
        let valid = for_each_field(object, |label, value| {
            self.table.observe(options.map(&decode_string(label)), values.len());
            values.push(value);
        });
        self.has_damaged_rows |= valid.is_err();
        self.table.end_row(|field, position| {
            field.types.add(values[position]);
            if options.lists == ListStyle::Columns {
                field.choices.observe(values[position], choices_left);
            }
        });
    }

    /// Chooses the most common labels and adds their columns.
    pub(crate) fn lay_out(&mut self, layout: &mut Layout) {
        self.table.retain_most_common(self.columns_max, usize::MAX);
        let is_answer = self.others_heading == OTHER_ANSWERS;
        // Columns that may be added for choices.
        let mut left = self.columns_max.saturating_sub(self.table.fields.len());
        for field in &self.table.fields {
            let (label, choices) = (&field.label, &field.choices);
            let needed = choices.texts.len() + usize::from(choices.has_other_answers);
            let splits = !choices.texts.is_empty() && needed <= left + 1;
            let mut place = Place { choices: splits.then_some(layout.columns.len()), value: None };
            if splits {
                left = left + 1 - needed;
                for choice in &choices.texts {
                    layout.add(&format!("{label}: {choice}"), ColumnType::Boolean, is_answer);
                }
            }
            if !splits || choices.has_other_answers {
                place.value = Some(layout.add(label, field.types.column_type(), is_answer));
            }
            self.places.push(place);
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
    ) -> Placed {
        let mut others = String::new();
        self.table.begin_row();
        let valid = for_each_field(object, |label, value| {
            let field = self.table.locate(options.map(&decode_string(label)));
            let is_placed = field.is_some_and(|field| self.set(field, value, cells, options));
            if !is_placed {
                others.push(if others.is_empty() { '{' } else { ',' });
                others.extend([label, ":", value]);
            }
        });
        let is_damaged = valid.is_err();
        let value = if is_damaged {
            // Never from a service; a stored row may have been edited.
            Value::Text(object.into())
        } else if others.is_empty() {
            return Placed::default();
        } else {
            others.push('}');
            Value::Json(others.into())
        };
        if let Some(column) = self.others {
            cells.set(column, value);
        }
        Placed { is_incomplete: self.others.is_none(), is_damaged }
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
        if let Some(first) = *choices {
            let known = &self.table.fields[field].choices;
            if let Some(chosen) = known.chosen(value) {
                for at in 0..known.texts.len() {
                    cells.set(first + at, Value::Boolean(chosen.contains(&at)));
                }
                return true;
            }
        }
        if let Some(column) = column {
            cells.set(*column, Value::parse_answer(value, options.lists));
        }
        column.is_some() || value == "null"
    }
}

impl TableOptions {
    fn map<'a>(&'a self, label: &'a str) -> &'a str {
        self.column_map.get(label).map_or(label, String::as_str)
    }
}
