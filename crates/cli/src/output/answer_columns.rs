//! The columns of answers: which labels get one, and which cell each answer of a row goes to.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use formsvc_protocol::decode_string;
use formsvc_table::{Cell, Columns, cell};

use super::listing::pairs;

/// Heading of the column with the answers to labels without a column.
const OTHER_ANSWERS: &str = "other_answers";

/// How many labels get columns, and what happens to the other answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct LabelLimit {
    pub(super) labels_max: usize,
    /// True if the other answers of a row go into one JSON object in the column `other_answers`.
    pub(super) keeps_others: bool,
}

/// For tables.
pub(super) const IN_TABLES: LabelLimit = LabelLimit { labels_max: 200, keeps_others: false };
/// For CSV and TSV. Keeps a flood of made-up labels from costing rows times labels.
pub(super) const IN_FILES: LabelLimit = LabelLimit { labels_max: 2_500, keeps_others: true };

/// A label, and how often the submission has it before: JSON may repeat a name.
type Key<'a> = (Cow<'a, str>, usize);

/// An answer as it is spelled in JSON.
struct Answer<'a> {
    key: Key<'a>,
    label: &'a str,
    value: &'a str,
}

/// How often a label occurs, and where it occurs first.
#[derive(Clone, Copy, Debug, Default)]
struct Occurrence {
    rows: u32,
    /// Row, counted from the newest, and position in that row.
    oldest: (u32, Reverse<u32>),
}

/// Columns for the labels of some submissions.
#[derive(Debug, Default)]
pub(super) struct AnswerColumns<'a> {
    names: Vec<String>,
    places: HashMap<Key<'a>, usize>,
    /// Number of labels without a column.
    left_out: usize,
    has_others: bool,
}

impl<'a> AnswerColumns<'a> {
    /// Columns for the labels that occur in most submissions; of labels that occur equally often, those
    /// first submitted. `submissions` are the answers as JSON objects, newest first; `reserved` are the
    /// names of columns before these.
    pub(super) fn of_most_common(
        reserved: &[&str],
        submissions: impl Iterator<Item = &'a str> + Clone,
        limit: LabelLimit,
    ) -> Self {
        let (labels, chosen) = most_common(submissions.clone(), limit.labels_max);
        let left_out = labels.saturating_sub(chosen.len());
        let sequences = submissions.map(|object| {
            answers(object).filter_map(|answer| chosen.get(&answer.key).map(|(label, _)| &**label))
        });
        let has_others = left_out > 0 && limit.keeps_others;
        let others = has_others.then_some(OTHER_ANSWERS);
        let reserved: Vec<&str> = reserved.iter().copied().chain(others).collect();
        let mut columns = Columns::lay_out(&reserved, sequences);
        let places = chosen.iter().map(|(label, nth)| {
            let key = (label.clone(), *nth);
            (key, columns.locate(label, *nth, 0))
        });
        let places = places.collect();
        let names = columns.names().chain(others).map(str::to_owned).collect();
        Self { names, places, left_out, has_others }
    }

    /// Columns for the labels that a user chose, in this order.
    pub(super) fn of_labels(reserved: &[&str], labels: &'a [String]) -> Self {
        let columns = Columns::lay_out(reserved, [labels.iter().map(String::as_str)]);
        let places = labels.iter().enumerate();
        Self {
            names: columns.names().map(str::to_owned).collect(),
            places: places.map(|(at, label)| ((Cow::from(&**label), 0), at)).collect(),
            left_out: 0,
            has_others: false,
        }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn left_out(&self) -> usize {
        self.left_out
    }

    /// The cells of a submission's answers, one for each column.
    pub(super) fn cells<'r>(&self, object: &'r str) -> Vec<Cell<'r>> {
        let mut cells = vec![cell("null"); self.names.len()];
        let mut others = String::new();
        for answer in answers(object) {
            if let Some(place) = self.places.get(&answer.key) {
                cells[*place] = cell(answer.value);
            } else if self.has_others {
                others.push(if others.is_empty() { '{' } else { ',' });
                others.push_str(answer.label);
                others.push(':');
                others.push_str(answer.value);
            }
        }
        if let Some(last) = cells.last_mut().filter(|_| !others.is_empty()) {
            others.push('}');
            *last = Cell { text: others.into(), free: false };
        }
        cells
    }
}

/// The answers of a JSON object, in order.
fn answers(object: &str) -> impl Iterator<Item = Answer<'_>> {
    let mut seen: HashMap<Cow<'_, str>, usize> = HashMap::new();
    pairs(object).into_iter().map(move |(label, value)| {
        let text = decode_string(label.get());
        let count = seen.entry(text.clone()).or_default();
        let key = (text, *count);
        *count += 1;
        Answer { key, label: label.get(), value: value.get() }
    })
}

/// The number of labels, and those of them that occur in most submissions.
///
/// Labels are counted by their hash, which takes a third of the memory. Two labels with one hash would
/// be chosen together, which costs a column and mixes no answers.
fn most_common<'a>(
    submissions: impl Iterator<Item = &'a str> + Clone,
    labels_max: usize,
) -> (usize, HashSet<Key<'a>>) {
    let hasher = RandomState::new();
    let mut occurrences: HashMap<u64, Occurrence> = HashMap::new();
    for (row, object) in (0..).zip(submissions.clone()) {
        for (position, answer) in (0..).zip(answers(object)) {
            let occurrence = occurrences.entry(hasher.hash_one(&answer.key)).or_default();
            occurrence.rows += 1;
            occurrence.oldest = (row, Reverse(position));
        }
    }
    let labels = occurrences.len();
    let mut ranked: Vec<(u64, Occurrence)> = occurrences.into_iter().collect();
    if labels > labels_max {
        ranked.select_nth_unstable_by_key(labels_max, |(_, Occurrence { rows, oldest })| {
            Reverse((*rows, *oldest))
        });
        ranked.truncate(labels_max);
    }
    let chosen: HashSet<u64> = ranked.into_iter().map(|(hash, _)| hash).collect();
    let keys = submissions.flat_map(answers).map(|answer| answer.key);
    (labels, keys.filter(|key| chosen.contains(&hasher.hash_one(key))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &[&str] = &["id"];

    fn limit(labels_max: usize, keeps_others: bool) -> LabelLimit {
        LabelLimit { labels_max, keeps_others }
    }

    fn columns<'a>(rows: &[&'a str], limit: LabelLimit) -> AnswerColumns<'a> {
        AnswerColumns::of_most_common(OWN, rows.iter().copied(), limit)
    }

    fn texts(columns: &AnswerColumns<'_>, row: &str) -> Vec<String> {
        columns.cells(row).into_iter().map(|cell| cell.text.into_owned()).collect()
    }

    #[test]
    fn labels_within_the_limit_all_get_columns() {
        let rows = [r#"{"a":1,"c":[1, 2]}"#, r#"{"a":2,"b":"x","c":3,"a":4,"id":5}"#];
        for keeps_others in [true, false] {
            let columns = columns(&rows, limit(5, keeps_others));
            assert_eq!(columns.names(), ["a", "b", "c", "a (2)", "id (2)"]);
            assert_eq!(columns.left_out(), 0);
            assert_eq!(texts(&columns, rows[0]), ["1", "", "[1, 2]", "", ""]);
            assert_eq!(texts(&columns, rows[1]), ["2", "x", "3", "4", "5"]);
        }
    }

    #[test]
    fn labels_beyond_the_limit_share_one_json_cell() {
        let rows = [
            r#"{"flood1":1.50,"name":"Ada","flood\u0032":"\u00e9"}"#,
            r#"{"name":"Bob","age":7}"#,
            r#"{"age":8,"name":"Cy"}"#,
        ];
        let columns = columns(&rows, limit(2, true));
        assert_eq!(columns.names(), ["name", "age", "other_answers"]);
        assert_eq!(columns.left_out(), 2);
        let others = r#"{"flood1":1.50,"flood\u0032":"\u00e9"}"#;
        assert_eq!(texts(&columns, rows[0]), ["Ada", "", others]);
        assert_eq!(texts(&columns, rows[1]), ["Bob", "7", ""]);
    }

    #[test]
    fn labels_in_equally_many_rows_are_ranked_by_age() {
        let rows = [r#"{"new1":1,"new2":2}"#, r#"{"mid":3}"#, r#"{"old1":4,"old2":5,"old3":6}"#];
        let named = |labels_max| columns(&rows, limit(labels_max, false)).names().to_vec();
        assert_eq!(named(1), ["old1"]);
        assert_eq!(named(2), ["old1", "old2"]);
        let mut four = named(4);
        four.sort();
        assert_eq!(four, ["mid", "old1", "old2", "old3"]);
        assert_eq!(named(0), [""; 0]);
    }

    #[test]
    fn frequent_label_wins_over_older_ones() {
        let rows = [r#"{"real":1}"#, r#"{"real":2}"#, r#"{"flood":1,"flood2":2}"#];
        assert_eq!(columns(&rows, limit(1, false)).names(), ["real"]);
    }

    #[test]
    fn label_named_other_answers_gets_a_suffix() {
        let rows = [r#"{"other_answers":"mine","x":1}"#, r#"{"other_answers":"too"}"#];
        let columns = columns(&rows, limit(1, true));
        assert_eq!(columns.names(), ["other_answers (2)", "other_answers"]);
        assert_eq!(texts(&columns, rows[0]), ["mine", r#"{"x":1}"#]);
        let all = AnswerColumns::of_most_common(OWN, rows.into_iter(), IN_FILES);
        assert_eq!(all.names(), ["other_answers", "x"]);
    }

    #[test]
    fn repeated_label_beyond_the_limit_keeps_its_value() {
        let rows = [r#"{"a":1,"a":2,"a":3}"#, r#"{"a":4}"#];
        let columns = columns(&rows, limit(1, true));
        assert_eq!(texts(&columns, rows[0]), ["1", r#"{"a":2,"a":3}"#]);
    }

    #[test]
    fn chosen_labels_are_the_only_columns() {
        let labels = ["b".to_owned(), "id".to_owned(), "gone".to_owned()];
        let columns = AnswerColumns::of_labels(OWN, &labels);
        assert_eq!(columns.names(), ["b", "id (2)", "gone"]);
        assert_eq!(texts(&columns, r#"{"a":1,"id":2,"b":3,"b":4}"#), ["3", "2", ""]);
    }
}
