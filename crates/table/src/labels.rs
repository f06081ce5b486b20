//! The labels of a form, in order, with the number of rows that have each.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::choices::Choices;
use crate::value::TypeSet;

/// Longer labels never get a column, so that headings stay small.
pub(crate) const LABEL_BYTES_MAX: usize = 4_096;
/// Distinct labels that are counted at most; see [`LabelTable::observe_row`].
const LABELS_MAX: usize = 20_000;

/// The counted labels.
#[derive(Debug, Default)]
pub(crate) struct LabelTable {
    pub(crate) fields: Vec<Field>,
    by_label: HashMap<Arc<str>, Occurrences>,
    /// The indices of the fields in the order of the form.
    order: Vec<usize>,
    row: u64,
    labels_max: usize,
    /// The types of a new field. Text after labels were forgotten, because older values of the field may
    /// have had any type.
    first_types: TypeSet,
    /// Labels that are never left out.
    pinned: HashSet<String>,
    /// Number of labels that were left out.
    pub(crate) left_out: u64,
}

/// The fields of a label, one for each occurrence in a row: JSON may repeat a label.
#[derive(Debug, Default)]
struct Occurrences {
    fields: Vec<usize>,
    /// The row in which the label was seen last, and how often.
    row: u64,
    seen: usize,
}

/// An occurrence of a label.
#[derive(Debug, Default)]
pub(crate) struct Field {
    pub(crate) label: Arc<str>,
    /// Number of rows that have the field.
    rows: u64,
    /// Row and position in which it was observed last.
    oldest: (u64, Reverse<usize>),
    pub(crate) types: TypeSet,
    pub(crate) choices: Choices,
}

impl LabelTable {
    pub(crate) fn new(max_columns: usize, pinned: HashSet<String>) -> Self {
        let labels_max = LABELS_MAX.max(max_columns.saturating_mul(2));
        Self { labels_max, pinned, ..Self::default() }
    }

    /// Begins a row.
    pub(crate) fn begin_row(&mut self) {
        self.row += 1;
    }

    /// Returns the field of the next occurrence of a label in the current row, if it has one.
    pub(crate) fn locate(&mut self, label: &str) -> Option<usize> {
        let label = self.by_label.get_mut(label)?;
        if label.row != self.row {
            (label.row, label.seen) = (self.row, 0);
        }
        label.seen += 1;
        label.fields.get(label.seen - 1).copied()
    }

    /// Counts the labels of a row and returns the field of each; `None` for a label that is too long.
    ///
    /// A new field follows its neighbour in the row. The fields of a row that shares no field with the
    /// rows before it go last.
    pub(crate) fn observe_row<'l>(
        &mut self,
        labels: impl Iterator<Item = Cow<'l, str>>,
    ) -> Vec<Option<usize>> {
        // Bounds the memory that a flood of generated labels takes. Up to `labels_max` labels are counted
        // exactly. Beyond, a label survives if it occurs more often than most of the last 10,000 new
        // labels; a forgotten label is counted from one when it occurs again.
        if self.fields.len() > self.labels_max {
            self.retain_most_common(self.labels_max / 2);
            self.first_types = TypeSet::TEXT;
        }
        self.begin_row();
        let first_new = self.fields.len();
        let fields: Vec<Option<usize>> = labels.map(|label| self.locate_or_add(&label)).collect();
        let is_related = fields.iter().flatten().any(|field| *field < first_new);
        let mut before = if is_related { None } else { self.order.last().copied() };
        for (position, at) in fields.iter().flatten().enumerate() {
            if *at >= first_new {
                // From the end, where the fields of unrelated rows are.
                let found = self.order.iter().rposition(|known| Some(*known) == before);
                self.order.insert(found.map_or(0, |found| found + 1), *at);
            }
            before = Some(*at);
            let field = &mut self.fields[*at];
            field.rows += 1;
            field.oldest = (self.row, Reverse(position));
        }
        fields
    }

    fn locate_or_add(&mut self, label: &str) -> Option<usize> {
        if label.len() > LABEL_BYTES_MAX {
            self.left_out += 1;
            return None;
        }
        self.locate(label).or_else(|| {
            let at = self.fields.len();
            let label: Arc<str> = label.into();
            let new = Occurrences { fields: Vec::new(), row: self.row, seen: 1 };
            self.by_label.entry(label.clone()).or_insert(new).fields.push(at);
            self.fields.push(Field { label, types: self.first_types, ..Field::default() });
            Some(at)
        })
    }

    /// Keeps the fields that most rows have; among equals, those of the oldest rows. Afterwards fields
    /// are numbered in their order.
    pub(crate) fn retain_most_common(&mut self, count: usize) {
        let mut ranked: Vec<usize> = (0..self.fields.len()).collect();
        let is_pinned = |at: usize| self.pinned.contains(&*self.fields[at].label);
        let rank = |at: &usize| {
            let field = &self.fields[*at];
            Reverse((is_pinned(*at), field.rows, field.oldest))
        };
        ranked.sort_unstable_by_key(rank);
        let pinned = ranked.iter().filter(|at| is_pinned(**at)).count();
        ranked.truncate(count.max(pinned));
        self.left_out += (self.fields.len() - ranked.len()) as u64;
        let kept: HashSet<usize> = ranked.into_iter().collect();
        self.order.retain(|at| kept.contains(at));
        let mut new_index = vec![None; self.fields.len()];
        let mut fields = Vec::new();
        for (number, at) in self.order.iter_mut().enumerate() {
            fields.push(std::mem::take(&mut self.fields[*at]));
            new_index[*at] = Some(number);
            *at = number;
        }
        self.fields = fields;
        self.by_label.retain(|_, known| {
            known.fields = known.fields.iter().filter_map(|at| new_index[*at]).collect();
            !known.fields.is_empty()
        });
    }
}
