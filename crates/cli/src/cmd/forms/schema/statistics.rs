//! Statistics of the labels of a form: times, types and number of different answers. Stores no answers.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use formsvc_contract::payload::AnswerType;
use formsvc_protocol::{Answers, decode_string};
use formsvc_table::Headings;

use crate::answer_type::answer_type;

/// Different answers of a label that are counted at most.
const DISTINCT_MAX: usize = 200;
/// Labels of a form at most. Anyone may submit any label, so the memory needs a bound.
const LABELS_MAX: usize = 10_000;
/// Bytes of a label at most; a longer one is cut, for the same reason.
const LABEL_BYTES_MAX: usize = 4_096;

/// Statistics of the submissions of a form.
#[derive(Debug)]
pub(super) struct Statistics {
    labels: Vec<LabelStatistics>,
    /// The indices in `labels` of each occurrence of a label in a submission: JSON may repeat a label.
    by_label: HashMap<String, Vec<usize>>,
    /// The indices of `labels` in the order of the form.
    order: Vec<usize>,
    names: Headings,
    submissions: u64,
    hasher: RandomState,
}

/// A form has too many labels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the form has more than {LABELS_MAX} labels")]
pub(super) struct TooManyLabels;

/// Statistics of a label.
#[derive(Clone, Debug)]
pub(super) struct LabelStatistics {
    /// The label; further occurrences in one submission are numbered.
    pub(super) name: String,
    /// The newest submission that has the label.
    pub(super) newest: Seen,
    /// The oldest submission that has the label.
    pub(super) oldest: Seen,
    /// Number of submissions with an answer that is not empty.
    pub(super) filled: u64,
    /// Number of answers of each type.
    pub(super) types: BTreeMap<AnswerType, u64>,
    /// Hashes of the different answers; `None` if there are too many.
    distinct: Option<HashSet<u64>>,
}

/// A submission that has a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Number of the submission, counted from the newest.
    pub(super) number: u64,
    /// Its time in microseconds since 1970.
    pub(super) micros: i64,
}

impl Statistics {
    pub(super) fn new() -> Self {
        Self {
            labels: Vec::new(),
            by_label: HashMap::new(),
            order: Vec::new(),
            names: Headings::new(&[], false, usize::MAX),
            submissions: 0,
            hasher: RandomState::new(),
        }
    }

    /// Adds the next older submission, and its time in microseconds since 1970.
    ///
    /// A new label follows its neighbour in the submission. The labels of a submission that shares none
    /// with newer ones go last.
    pub(super) fn add(&mut self, answers: &Answers, micros: i64) -> Result<(), TooManyLabels> {
        let fields = answers.fields();
        let fields: Vec<_> = fields.iter().map(|(label, value)| (cut(label), value)).collect();
        let mut occurrences: HashMap<&str, usize> = HashMap::new();
        let known = fields.iter().map(|(label, _)| {
            let label: &str = label;
            let occurrence = occurrences.entry(label).or_default();
            *occurrence += 1;
            self.by_label.get(label)?.get(*occurrence - 1).copied()
        });
        let known: Vec<Option<usize>> = known.collect();
        if self.labels.len() + known.iter().filter(|at| at.is_none()).count() > LABELS_MAX {
            return Err(TooManyLabels);
        }
        let is_related = known.iter().any(Option::is_some);
        let mut before = if is_related { None } else { self.order.last().copied() };
        let seen = Seen { number: self.submissions, micros };
        for ((label, value), at) in fields.iter().zip(known) {
            let at = at.unwrap_or_else(|| self.add_label(label, before, seen));
            self.labels[at].add(value.as_json(), seen, &self.hasher);
            before = Some(at);
        }
        self.submissions += 1;
        Ok(())
    }

    /// Adds an occurrence of a label after another one, or first.
    fn add_label(&mut self, label: &str, before: Option<usize>, seen: Seen) -> usize {
        let at = self.labels.len();
        let found = before.and_then(|before| self.order.iter().position(|known| *known == before));
        self.order.insert(found.map_or(0, |found| found + 1), at);
        self.by_label.entry(label.to_owned()).or_default().push(at);
        self.labels.push(LabelStatistics {
            name: self.names.add(label),
            newest: seen,
            oldest: seen,
            filled: 0,
            types: BTreeMap::new(),
            distinct: Some(HashSet::new()),
        });
        at
    }

    /// Returns the number of submissions.
    pub(super) fn submissions(&self) -> u64 {
        self.submissions
    }

    /// Returns the labels in the order of the form.
    pub(super) fn labels(&self) -> impl Iterator<Item = &LabelStatistics> {
        self.order.iter().map(|at| &self.labels[*at])
    }
}

impl LabelStatistics {
    fn add(&mut self, value: &str, seen: Seen, hasher: &RandomState) {
        self.oldest = seen;
        let Some(answer_type) = answer_type(value) else { return };
        self.filled += 1;
        *self.types.entry(answer_type).or_default() += 1;
        if let Some(distinct) = &mut self.distinct {
            distinct.insert(hasher.hash_one(decode_string(value)));
            if distinct.len() > DISTINCT_MAX {
                self.distinct = None;
            }
        }
    }

    /// Returns the most common type of the answers.
    pub(super) fn most_common_type(&self) -> Option<AnswerType> {
        self.types.iter().max_by_key(|(_, count)| **count).map(|(answer_type, _)| *answer_type)
    }

    /// Returns the number of different answers; `None` if there are more than 200.
    pub(super) fn distinct(&self) -> Option<usize> {
        self.distinct.as_ref().map(HashSet::len)
    }
}

/// Cuts a label that is too long, and marks the end with an ellipsis.
fn cut(label: &str) -> Cow<'_, str> {
    if label.len() <= LABEL_BYTES_MAX {
        return label.into();
    }
    let ends = label.char_indices().map(|(at, _)| at).take_while(|at| *at <= LABEL_BYTES_MAX);
    format!("{}…", &label[..ends.last().unwrap_or_default()]).into()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::renames::find_renames;
    use super::*;

    /// Returns the statistics of answers, newest first, one second apart.
    pub(in super::super) fn statistics(rows: &[&str]) -> Statistics {
        let mut statistics = Statistics::new();
        for (at, answers) in rows.iter().enumerate() {
            let micros = i64::try_from(rows.len() - at).unwrap() * 1_000_000;
            statistics.add(&Answers::parse(*answers).unwrap(), micros).unwrap();
        }
        statistics
    }

    #[test]
    fn label_has_times_types_and_number_of_answers() {
        let statistics = statistics(&[
            r#"{"a":1,"b":"x"}"#,
            r#"{"a":"2026-03-01","b":""}"#,
            r#"{"a":1.5,"c":null}"#,
            r#"{"a":1}"#,
        ]);
        assert_eq!(statistics.submissions(), 4);
        let labels: Vec<_> = statistics.labels().collect();
        let second = |seen: Seen| seen.micros / 1_000_000;
        let shown: Vec<_> = labels
            .iter()
            .map(|l| (&*l.name, second(l.oldest), second(l.newest), l.filled, l.distinct()))
            .collect();
        assert_eq!(
            shown,
            [("a", 1, 4, 4, Some(3)), ("c", 2, 2, 0, Some(0)), ("b", 3, 4, 1, Some(1))]
        );
        assert_eq!(labels[0].most_common_type(), Some(AnswerType::Number));
        assert_eq!(labels[0].types[&AnswerType::Date], 1);
        assert_eq!(labels[2].most_common_type(), Some(AnswerType::Text));
        assert_eq!(labels[1].most_common_type(), None);
    }

    #[test]
    fn repeated_label_is_numbered() {
        let statistics = statistics(&[r#"{"a":1,"a":"x"}"#, r#"{"a":2}"#]);
        let shown: Vec<_> =
            statistics.labels().map(|l| (&*l.name, l.filled, l.most_common_type())).collect();
        let expected = [("a", 2, Some(AnswerType::Number)), ("a (2)", 1, Some(AnswerType::Text))];
        assert_eq!(shown, expected);
    }

    #[test]
    fn answers_and_labels_of_strangers_take_bounded_memory() {
        let rows: Vec<String> = (0..500).map(|n| format!(r#"{{"a":{n}}}"#)).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let statistics = statistics(&rows);
        let label = statistics.labels().next().unwrap();
        assert_eq!((label.distinct(), label.filled), (None, 500));
        let members: Vec<String> = (0..=LABELS_MAX).map(|n| format!("\"l{n}\":1")).collect();
        let flood = format!("{{{}}}", members.join(","));
        let mut statistics = Statistics::new();
        assert_eq!(statistics.add(&Answers::parse(flood).unwrap(), 0), Err(TooManyLabels));
    }

    #[test]
    fn long_label_is_cut_between_characters() {
        let data = format!(r#"{{"a{}":1}}"#, "é".repeat(30_000));
        let statistics = statistics(&[&data, &data]);
        let names: Vec<&str> = statistics.labels().map(|label| &*label.name).collect();
        assert_eq!(names, [format!("a{}…", "é".repeat(2_047))]);
    }

    proptest! {
        #[test]
        fn counts_of_random_submissions_add_up(
            rows in prop::collection::vec(
                prop::collection::vec(("[a-d]", prop::sample::select(vec!["1", "null", "\"\"", "\"x\"", "[]", "[1]", "true"])), 0..5),
                0..20,
            ),
        ) {
            let rows: Vec<String> = rows.iter().map(|row| {
                let members: Vec<String> = row.iter().map(|(label, value)| format!("\"{label}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }).collect();
            let statistics = statistics(&rows.iter().map(String::as_str).collect::<Vec<_>>());
            let labels: Vec<_> = statistics.labels().collect();
            for label in &labels {
                prop_assert_eq!(label.types.values().sum::<u64>(), label.filled);
                prop_assert!(label.filled <= statistics.submissions());
                prop_assert!(label.oldest.micros <= label.newest.micros);
                prop_assert!(label.distinct().unwrap() as u64 <= label.filled);
            }
            for rename in find_renames(&labels) {
                let label = |name: &str| labels.iter().find(|l| l.name == name).unwrap();
                prop_assert!(label(rename.old).newest.micros < label(rename.new).oldest.micros);
            }
        }
    }
}
