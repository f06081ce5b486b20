//! Statistics of the labels of a form: times, types and number of different answers. Stores no answers.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use formsvc_client::{Submission, Timestamp};
use formsvc_protocol::decode_string;
use formsvc_table::{ColumnType, Headings, TypeSet};
use serde::Serialize;

use crate::error::CliError;
use crate::exit::Exit;

/// Maximum number of different answers that are counted per label.
const DISTINCT_MAX: usize = 200;
/// Maximum number of labels of a form. A submission may have any label, so the use of memory needs a bound.
const LABELS_MAX: usize = 10_000;
/// Maximum length of the name of a label, in bytes. A longer name is truncated, for the same reason.
const NAME_BYTES_MAX: usize = 4_096;

/// Statistics of the submissions of a form.
#[derive(Debug)]
pub(super) struct Statistics {
    /// In order of their first occurrence.
    pub(super) labels: Vec<LabelStatistics>,
    /// Indices in `labels`, by the hash of a label and its nth occurrence in a submission: JSON may repeat labels.
    by_hash: HashMap<u64, usize>,
    names: Headings,
    pub(super) submissions: u64,
    hasher: RandomState,
}

/// Statistics of a label.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LabelStatistics {
    /// The label; further occurrences in one submission are numbered.
    label: String,
    /// Time of the oldest submission that has the label.
    first_seen: Timestamp,
    last_seen: Timestamp,
    /// Number of submissions with an answer that is not empty.
    pub(super) filled: u64,
    /// Number of answers of each type.
    types: BTreeMap<&'static str, u64>,
    /// The types of all answers.
    #[serde(skip)]
    type_set: TypeSet,
    /// Hashes of the different answers; `None` if there are too many.
    #[serde(skip)]
    distinct: Option<HashSet<u64>>,
}

impl Statistics {
    pub(super) fn new() -> Self {
        Self {
            labels: Vec::new(),
            by_hash: HashMap::new(),
            names: Headings::new(&[], false, NAME_BYTES_MAX),
            submissions: 0,
            hasher: RandomState::new(),
        }
    }

    /// Adds the next older submission.
    ///
    /// # Errors
    /// Fails if the form has too many labels.
    pub(super) fn add(&mut self, submission: &Submission) -> Result<(), CliError> {
        let seen = &submission.created_at;
        let mut occurrences: HashMap<&str, usize> = HashMap::new();
        for (label, value) in &submission.data.fields() {
            let occurrence = occurrences.entry(&**label).or_default();
            *occurrence += 1;
            let next = self.labels.len();
            let hash = self.hasher.hash_one((label, *occurrence));
            let at = *self.by_hash.entry(hash).or_insert(next);
            if at == next {
                if next == LABELS_MAX {
                    let what = format!("the form has more than {LABELS_MAX} labels");
                    return Err(CliError::new(Exit::Service, what)
                        .hint("read fewer submissions with `--sample N`"));
                }
                self.labels.push(LabelStatistics::new(self.names.add(label), seen));
            }
            self.labels[at].add(value.as_json(), seen, &self.hasher);
        }
        self.submissions += 1;
        Ok(())
    }
}

impl LabelStatistics {
    fn new(label: String, seen: &Timestamp) -> Self {
        Self {
            label,
            first_seen: seen.clone(),
            last_seen: seen.clone(),
            filled: 0,
            types: BTreeMap::new(),
            type_set: TypeSet::default(),
            distinct: Some(HashSet::new()),
        }
    }

    fn add(&mut self, value: &str, seen: &Timestamp, hasher: &RandomState) {
        self.first_seen = seen.clone();
        if matches!(value, "null" | "\"\"" | "[]" | "{}") {
            return;
        }
        self.filled += 1;
        self.type_set.add(value);
        let mut own_type = TypeSet::default();
        own_type.add(value);
        *self.types.entry(type_name(own_type)).or_default() += 1;
        if let Some(distinct) = &mut self.distinct {
            distinct.insert(hasher.hash_one(decode_string(value)));
            if distinct.len() > DISTINCT_MAX {
                self.distinct = None;
            }
        }
    }

    /// Returns the type of a column with the answers; `None` if all are empty.
    pub(super) fn column_type(&self) -> Option<&'static str> {
        (self.filled > 0).then(|| type_name(self.type_set))
    }

    /// Returns the number of different answers; `None` if there are more than 200.
    pub(super) fn distinct(&self) -> Option<usize> {
        self.distinct.as_ref().map(HashSet::len)
    }
}

/// Returns the name of a type in output.
fn type_name(types: TypeSet) -> &'static str {
    match types.column_type() {
        ColumnType::Boolean => "boolean",
        ColumnType::Integer => "integer",
        ColumnType::Real => "number",
        ColumnType::Time | ColumnType::Text => "text",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn submission(answers: &str, second: usize) -> Submission {
        let time = format!("2026-01-01T00:00:{:02}.000Z", second % 60);
        let json = format!(r#"{{"id":"sub_1","data":{answers},"created_at":"{time}"}}"#);
        serde_json::from_str(&json).unwrap()
    }

    /// Returns the statistics of answers, newest first, one second apart.
    fn statistics(rows: &[&str]) -> Statistics {
        let mut statistics = Statistics::new();
        for (at, answers) in rows.iter().enumerate() {
            statistics.add(&submission(answers, rows.len() - at)).unwrap();
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
        assert_eq!(statistics.submissions, 4);
        let labels = &statistics.labels;
        let second = |seen: &Timestamp| seen.as_str()[17..19].parse().unwrap();
        let shown: Vec<(_, i64, i64, _, _)> = labels
            .iter()
            .map(|l| {
                (&*l.label, second(&l.first_seen), second(&l.last_seen), l.filled, l.distinct())
            })
            .collect();
        assert_eq!(
            shown,
            [("a", 1, 4, 4, Some(3)), ("b", 3, 4, 1, Some(1)), ("c", 2, 2, 0, Some(0))]
        );
        assert_eq!(labels[0].column_type(), Some("text"));
        let types = [("integer", 2), ("number", 1), ("text", 1)];
        assert_eq!(labels[0].types, BTreeMap::from(types));
        assert_eq!(labels[1].column_type(), Some("text"));
        assert_eq!(labels[2].column_type(), None);
    }

    #[test]
    fn repeated_label_is_numbered() {
        let statistics = statistics(&[r#"{"a":1,"a":"x"}"#, r#"{"a":2}"#]);
        let shown: Vec<_> =
            statistics.labels.iter().map(|l| (&*l.label, l.filled, l.column_type())).collect();
        assert_eq!(shown, [("a", 2, Some("integer")), ("a (2)", 1, Some("text"))]);
    }

    #[test]
    fn flood_of_answers_and_labels_takes_bounded_memory() {
        let rows: Vec<String> = (0..500).map(|n| format!(r#"{{"a":{n}}}"#)).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let label = statistics(&rows).labels[0].clone();
        assert_eq!((label.distinct(), label.filled), (None, 500));
        let members: Vec<String> = (0..=LABELS_MAX).map(|n| format!("\"l{n}\":1")).collect();
        let flood = submission(&format!("{{{}}}", members.join(",")), 0);
        assert_eq!(Statistics::new().add(&flood).unwrap_err().exit, Exit::Service);
    }

    #[test]
    fn long_label_is_cut_between_characters() {
        let data = format!(r#"{{"a{}":1}}"#, "é".repeat(30_000));
        let statistics = statistics(&[&data, &data]);
        let names: Vec<&str> = statistics.labels.iter().map(|label| &*label.label).collect();
        assert_eq!(names, [format!("a{}", "é".repeat(2_047))]);
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
            for label in &statistics.labels {
                prop_assert_eq!(label.types.values().sum::<u64>(), label.filled);
                prop_assert!(label.filled <= statistics.submissions);
                prop_assert!(label.first_seen <= label.last_seen);
                prop_assert!(label.distinct().unwrap() as u64 <= label.filled);
            }
        }
    }
}
