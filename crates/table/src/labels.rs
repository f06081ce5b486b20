//! The labels of a form, in order, with the number of rows that have each.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::choices::Choices;
use crate::value::TypeSet;

/// Longer labels never get a column, so that headings stay small.
const LABEL_BYTES_MAX: usize = 4_096;
/// Distinct labels that are counted at most; see [`LabelTable::prune`].
const LABELS_MAX: usize = 20_000;
/// Bytes of the counted labels at most.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// The counted labels as a linked list, so that an insertion takes constant time.
#[derive(Debug, Default)]
pub(crate) struct LabelTable {
    pub(crate) fields: Vec<Field>,
    by_label: HashMap<Arc<str>, Occurrences>,
    first: Option<usize>,
    last: Option<usize>,
    row: u64,
    bytes: usize,
    labels_max: usize,
    /// Labels that are never left out.
    pinned: HashSet<String>,
    /// Number of labels that were left out.
    pub(crate) left_out: u64,
    /// The fields of the current row with the position of each value.
    current: Vec<(usize, usize)>,
    /// Fields from this one on are new in the current row and have no place in the list yet.
    new_from: usize,
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
    next: Option<usize>,
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
        self.current.clear();
        self.new_from = self.fields.len();
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

    /// Adds a field to the current row, unless the label is too long.
    pub(crate) fn observe(&mut self, label: &str, position: usize) {
        if label.len() > LABEL_BYTES_MAX {
            self.left_out += 1;
            return;
        }
        let at = self.locate(label).unwrap_or_else(|| self.add(label));
        self.current.push((at, position));
    }

    fn add(&mut self, label: &str) -> usize {
        let at = self.fields.len();
        if let Some(known) = self.by_label.get_mut(label) {
            known.fields.push(at);
            let label = self.fields[known.fields[0]].label.clone();
            self.fields.push(Field { label, ..Field::default() });
            return at;
        }
        let text: Arc<str> = label.into();
        let occurrences = Occurrences { fields: vec![at], row: self.row, seen: 1 };
        self.by_label.insert(text.clone(), occurrences);
        self.bytes += label.len();
        self.fields.push(Field { label: text, ..Field::default() });
        at
    }

    /// Completes the current row: gives new fields their place in the list and calls `each` with the
    /// field of each observed position.
    ///
    /// A new field follows its neighbour in the row. The fields of a row that shares no field with the
    /// rows before it go last.
    pub(crate) fn end_row(&mut self, mut each: impl FnMut(&mut Field, usize)) {
        let current = std::mem::take(&mut self.current);
        let is_related = current.iter().any(|(field, _)| *field < self.new_from);
        let mut before = if is_related { None } else { self.last };
        for (at, position) in &current {
            if *at >= self.new_from {
                self.insert(*at, before);
            }
            before = Some(*at);
            let field = &mut self.fields[*at];
            field.rows += 1;
            field.oldest = (self.row, Reverse(*position));
            each(field, *position);
        }
        self.current = current;
        if self.fields.len() > self.labels_max || self.bytes > BYTES_MAX {
            self.prune();
        }
    }

    /// Inserts a field into the list.
    fn insert(&mut self, at: usize, before: Option<usize>) {
        let to_here = match before {
            Some(before) => &mut self.fields[before].next,
            None => &mut self.first,
        };
        let next = to_here.replace(at);
        if next.is_none() {
            self.last = Some(at);
        }
        self.fields[at].next = next;
    }

    /// Forgets the rarer half of the fields, so that a flood of generated labels takes bounded memory.
    ///
    /// Up to `labels_max` labels are counted exactly. Beyond, a label survives if it occurs more often
    /// than most of the last 10,000 new labels; a forgotten label is counted from one when it occurs
    /// again.
    fn prune(&mut self) {
        self.retain_most_common(self.labels_max / 2, BYTES_MAX / 2);
    }

    /// Keeps the fields that most rows have; among equals, those of the oldest rows. Afterwards fields
    /// are numbered in their order.
    pub(crate) fn retain_most_common(&mut self, count: usize, bytes: usize) {
        let mut ranked: Vec<usize> = (0..self.fields.len()).collect();
        let rank = |at: &usize| {
            let field = &self.fields[*at];
            Reverse((self.pinned.contains(&*field.label), field.rows, field.oldest))
        };
        ranked.sort_unstable_by_key(rank);
        let mut kept = vec![false; self.fields.len()];
        let (mut kept_count, mut kept_bytes) = (0, 0);
        for at in ranked {
            kept_bytes += self.fields[at].label.len();
            let is_pinned = self.pinned.contains(&*self.fields[at].label);
            if !is_pinned && (kept_count == count || kept_bytes > bytes) {
                break;
            }
            kept_count += 1;
            kept[at] = true;
        }
        self.left_out += (self.fields.len() - kept_count) as u64;
        self.rebuild(&kept);
    }

    /// Numbers the kept fields in their order and forgets all others.
    fn rebuild(&mut self, kept: &[bool]) {
        let mut next = self.first;
        let mut old_fields: Vec<Option<Field>> = self.fields.drain(..).map(Some).collect();
        let mut new_index = vec![None; kept.len()];
        (self.first, self.last) = (None, None);
        while let Some(at) = next {
            let Some(field) = old_fields[at].take() else { break };
            next = field.next;
            if kept[at] {
                new_index[at] = Some(self.fields.len());
                self.fields.push(Field { next: None, ..field });
                self.insert(self.fields.len() - 1, self.last);
            }
        }
        self.bytes = 0;
        self.by_label.retain(|label, known| {
            known.fields = known.fields.iter().filter_map(|at| new_index[*at]).collect();
            self.bytes += if known.fields.is_empty() { 0 } else { label.len() };
            !known.fields.is_empty()
        });
    }
}
