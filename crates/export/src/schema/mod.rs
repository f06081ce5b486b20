//! What the answers of a form look like: per label when it was seen, how often it is filled, what its
//! values are, and which labels are likely the same question under another name.

mod kind;
mod renames;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use formsvc_protocol::{Answers, decode_string};
use formsvc_table::Headings;

pub use kind::ValueKind;
pub use renames::Rename;

/// Values of a label that are told apart; more are only known to be more.
pub const DISTINCT_MAX: usize = 200;
/// Labels a schema has at most: what strangers can make of a form is bounded here.
pub const LABELS_MAX: usize = 10_000;

/// A schema under way: submissions go in, newest first. Holds no answers, and a bounded amount for each
/// label.
///
/// ```
/// use formsvc_client::Answers;
/// use formsvc_export::{Schema, ValueKind};
/// let mut schema = Schema::new();
/// for (answers, time) in [(r#"{"Name":"Ada","Age":36}"#, 2), (r#"{"Name":""}"#, 1)] {
///     schema.add(&Answers::parse(answers)?, time)?;
/// }
/// let labels = schema.labels();
/// assert_eq!((labels[0].label, labels[0].filled), ("Name", 1));
/// assert_eq!(labels[1].kind(), Some(ValueKind::Number));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Schema {
    stats: Vec<Stats>,
    /// The position in `stats` of each occurrence of a label in a submission: JSON may repeat a label.
    by_label: HashMap<String, Vec<usize>>,
    /// The positions in the form's order.
    order: Vec<usize>,
    names: Headings,
    submissions: u64,
    hasher: RandomState,
}

/// More labels than [`LABELS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyLabels;

/// What is known of a label.
#[derive(Clone, Debug, Default)]
struct Stats {
    /// The label, numbered if it is not the first with this text.
    name: String,
    /// The newest and the oldest submission that has it: its number, from the newest, and its time.
    newest: Option<Seen>,
    oldest: Option<Seen>,
    filled: u64,
    kinds: BTreeMap<ValueKind, u64>,
    /// Hashes of its values; nothing once there were too many.
    distinct: Option<HashSet<u64>>,
}

/// A submission a label was seen in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    number: u64,
    micros: i64,
}

/// A label of a schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Label<'a> {
    /// The label; of one that stands twice in a submission, the second is numbered.
    pub label: &'a str,
    /// When the oldest submission that has it was made, in microseconds since 1970.
    pub first_seen: i64,
    /// When the newest one was.
    pub last_seen: i64,
    /// Submissions in which it holds something: no null, no empty text, list or object.
    pub filled: u64,
    /// How often it held each kind of value.
    pub kinds: &'a BTreeMap<ValueKind, u64>,
    /// How many different values it held; `None` if more than [`DISTINCT_MAX`].
    pub distinct: Option<usize>,
}

impl Label<'_> {
    /// The kind that most of its values are of.
    pub fn kind(&self) -> Option<ValueKind> {
        self.kinds.iter().max_by_key(|(_, count)| **count).map(|(kind, _)| *kind)
    }
}

impl Schema {
    /// Creates a schema without submissions.
    pub fn new() -> Self {
        Self {
            stats: Vec::new(),
            by_label: HashMap::new(),
            order: Vec::new(),
            names: Headings::new(&[], false, usize::MAX),
            submissions: 0,
            hasher: RandomState::new(),
        }
    }

    /// Takes the answers of the next older submission, and when it was made, in microseconds since 1970.
    ///
    /// A new label follows its neighbour in the submission. The labels of a submission that shares none
    /// with newer ones go last.
    pub fn add(&mut self, answers: &Answers, micros: i64) -> Result<(), TooManyLabels> {
        let fields = answers.fields();
        let mut occurrences: HashMap<&str, usize> = HashMap::new();
        let known = fields.iter().map(|(label, _)| {
            let nth = occurrences.entry(label).or_default();
            *nth += 1;
            self.by_label.get(&**label)?.get(*nth - 1).copied()
        });
        let known: Vec<Option<usize>> = known.collect();
        if self.stats.len() + known.iter().filter(|at| at.is_none()).count() > LABELS_MAX {
            return Err(TooManyLabels);
        }
        let is_related = known.iter().any(Option::is_some);
        let mut before = if is_related { None } else { self.order.last().copied() };
        let seen = Seen { number: self.submissions, micros };
        for ((label, value), at) in fields.iter().zip(known) {
            let at = at.unwrap_or_else(|| self.add_label(label, before));
            self.stats[at].take(value.as_json(), seen, &self.hasher);
            before = Some(at);
        }
        self.submissions += 1;
        Ok(())
    }

    /// Adds an occurrence of a label behind another one, or first.
    fn add_label(&mut self, label: &str, before: Option<usize>) -> usize {
        let at = self.stats.len();
        let place = before.and_then(|before| self.order.iter().position(|known| *known == before));
        self.order.insert(place.map_or(0, |place| place + 1), at);
        self.by_label.entry(label.to_owned()).or_default().push(at);
        self.stats.push(Stats { name: self.names.add(label), ..Stats::default() });
        at
    }

    /// How many submissions were read.
    pub fn submissions(&self) -> u64 {
        self.submissions
    }

    /// The labels that were seen, in the form's order.
    pub fn labels(&self) -> Vec<Label<'_>> {
        self.ordered().filter_map(Stats::label).collect()
    }

    /// Which labels are likely the same question under another name, the likeliest first; each label is
    /// in at most one pair as the old one, and in one as the new.
    pub fn renames(&self) -> Vec<Rename<'_>> {
        renames::of(self.ordered())
    }

    fn ordered(&self) -> impl Iterator<Item = &Stats> {
        self.order.iter().map(|at| &self.stats[*at])
    }
}

impl Default for Schema {
    fn default() -> Self {
        Self::new()
    }
}

impl Stats {
    fn take(&mut self, value: &str, seen: Seen, hasher: &RandomState) {
        self.newest.get_or_insert(seen);
        self.oldest = Some(seen);
        let Some(kind) = ValueKind::of(value) else { return };
        if self.filled == 0 {
            self.distinct = Some(HashSet::new());
        }
        self.filled += 1;
        *self.kinds.entry(kind).or_default() += 1;
        if let Some(distinct) = &mut self.distinct {
            distinct.insert(hasher.hash_one(decode_string(value)));
            if distinct.len() > DISTINCT_MAX {
                self.distinct = None;
            }
        }
    }

    fn label(&self) -> Option<Label<'_>> {
        let distinct =
            if self.filled == 0 { Some(0) } else { self.distinct.as_ref().map(HashSet::len) };
        Some(Label {
            label: &self.name,
            first_seen: self.oldest?.micros,
            last_seen: self.newest?.micros,
            filled: self.filled,
            kinds: &self.kinds,
            distinct,
        })
    }
}

impl std::fmt::Display for TooManyLabels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the form has more than {LABELS_MAX} labels")
    }
}

impl std::error::Error for TooManyLabels {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A schema of these answers, the newest first, a second apart.
    pub(super) fn schema(rows: &[&str]) -> Schema {
        let mut schema = Schema::new();
        for (at, answers) in rows.iter().enumerate() {
            let micros = i64::try_from(rows.len() - at).unwrap() * 1_000_000;
            schema.add(&Answers::parse(*answers).unwrap(), micros).unwrap();
        }
        schema
    }

    #[test]
    fn a_label_says_when_it_was_seen_and_what_it_held() {
        let schema = schema(&[
            r#"{"a":1,"b":"x"}"#,
            r#"{"a":"2026-03-01","b":""}"#,
            r#"{"a":1.5,"c":null}"#,
            r#"{"a":1}"#,
        ]);
        assert_eq!(schema.submissions(), 4);
        let labels = schema.labels();
        let shown: Vec<_> = labels
            .iter()
            .map(|l| {
                (l.label, l.first_seen / 1_000_000, l.last_seen / 1_000_000, l.filled, l.distinct)
            })
            .collect();
        assert_eq!(
            shown,
            [("a", 1, 4, 4, Some(3)), ("c", 2, 2, 0, Some(0)), ("b", 3, 4, 1, Some(1))]
        );
        assert_eq!(labels[0].kind(), Some(ValueKind::Number));
        assert_eq!(labels[0].kinds[&ValueKind::Date], 1);
        assert_eq!((labels[2].kind(), labels[1].kind()), (Some(ValueKind::Text), None));
    }

    #[test]
    fn a_label_that_stands_twice_is_two() {
        let schema = schema(&[r#"{"a":1,"a":"x"}"#, r#"{"a":2}"#]);
        let labels = schema.labels();
        let shown: Vec<_> = labels.iter().map(|l| (l.label, l.filled, l.kind())).collect();
        assert_eq!(shown, [("a", 2, Some(ValueKind::Number)), ("a (2)", 1, Some(ValueKind::Text))]);
    }

    #[test]
    fn what_strangers_send_takes_a_bounded_amount_of_memory() {
        let rows: Vec<String> = (0..500).map(|n| format!(r#"{{"a":{n}}}"#)).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let schema = schema(&rows);
        assert_eq!((schema.labels()[0].distinct, schema.labels()[0].filled), (None, 500));
        assert!(schema.stats[0].distinct.is_none());
        let members: Vec<String> = (0..=LABELS_MAX).map(|n| format!("\"l{n}\":1")).collect();
        let crowd = format!("{{{}}}", members.join(","));
        let mut schema = Schema::new();
        assert_eq!(schema.add(&Answers::parse(crowd).unwrap(), 0), Err(TooManyLabels));
    }

    proptest! {
        #[test]
        fn what_is_counted_adds_up(
            rows in prop::collection::vec(
                prop::collection::vec(("[a-d]", prop::sample::select(vec!["1", "null", "\"\"", "\"x\"", "[]", "[1]", "true"])), 0..5),
                0..20,
            ),
        ) {
            let rows: Vec<String> = rows.iter().map(|row| {
                let members: Vec<String> = row.iter().map(|(label, value)| format!("\"{label}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }).collect();
            let schema = schema(&rows.iter().map(String::as_str).collect::<Vec<_>>());
            for label in schema.labels() {
                prop_assert_eq!(label.kinds.values().sum::<u64>(), label.filled);
                prop_assert!(label.filled <= schema.submissions());
                prop_assert!(label.first_seen <= label.last_seen);
                prop_assert!(label.distinct.unwrap() as u64 <= label.filled);
            }
            for rename in schema.renames() {
                let of = |name: &str| schema.labels().into_iter().find(|l| l.label == name).unwrap();
                prop_assert!(of(rename.old).last_seen < of(rename.new).first_seen);
            }
        }
    }
}
