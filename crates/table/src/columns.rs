//! The columns of a table: one for each label.

use std::collections::{HashMap, HashSet};

use formsvc_protocol::{Answer, Answers};

/// A label and the number of its earlier occurrences in the same submission. JSON may repeat a
/// label, and each of its values has its own column.
type Key = (Box<str>, usize);

/// The columns of a table: one for each label, and one for each repetition of a label.
///
/// [`lay_out`](Self::lay_out) chooses the first columns in the order of the form. Later labels are
/// appended, so the position of a column never changes.
///
/// ```
/// use formsvc_protocol::Answers;
/// use formsvc_table::Columns;
/// let mut columns = Columns::lay_out(&["id"], [["Name", "Age"]]);
/// let answers = Answers::parse(r#"{"Age":41,"Town":"Ulm"}"#)?;
/// let cells = columns.place(&answers);
/// let cells: Vec<_> = cells.iter().map(|cell| cell.map(|answer| answer.as_json())).collect();
/// assert_eq!(cells, [None, Some("41"), Some(r#""Ulm""#)]);
/// assert_eq!(columns.names().collect::<Vec<_>>(), ["Name", "Age", "Town"]);
/// # Ok::<(), formsvc_protocol::NotAnObject>(())
/// ```
#[derive(Debug, Default)]
pub struct Columns {
    keys: Vec<Key>,
    /// The heading of each column.
    names: Vec<Box<str>>,
    index: HashMap<Box<str>, Known>,
    /// All headings and the reserved names.
    taken: HashSet<Box<str>>,
}

/// The columns of a label.
#[derive(Debug, Default)]
struct Known {
    /// The column of each occurrence in a submission.
    columns: Vec<usize>,
    /// The last number that was appended to the label to make a heading unique.
    number: usize,
}

impl Columns {
    /// Creates an empty set of columns. `reserved` are the names of columns that are not answers,
    /// such as `id`; the heading of a label that equals one is numbered: `id (2)`.
    pub fn new(reserved: &[&str]) -> Self {
        Self { taken: reserved.iter().map(|name| (*name).into()).collect(), ..Self::default() }
    }

    /// Creates columns in the order of a form. Each item of `sequences` contains the labels of one
    /// submission, newest submission first.
    ///
    /// A label that newer submissions do not have is placed after the label before it in its own
    /// submission, so optional questions keep the order of the form. If a submission shares no
    /// label with newer ones, its labels are placed last.
    pub fn lay_out<'a, S: IntoIterator<Item = &'a str>>(
        reserved: &[&str],
        sequences: impl IntoIterator<Item = S>,
    ) -> Self {
        let mut order = Order::default();
        for sequence in sequences {
            let mut seen = HashMap::new();
            let keys = sequence.into_iter().map(|label| {
                let nth = seen.entry(label).and_modify(|nth| *nth += 1).or_insert(0_usize);
                (label.into(), *nth)
            });
            let keys: Vec<Key> = keys.collect();
            let is_related = keys.iter().any(|key| order.by_key.contains_key(key));
            let mut before = if is_related { None } else { order.last };
            for key in keys {
                before = Some(order.place(key, before));
            }
        }
        let mut columns = Self::new(reserved);
        order.labels().for_each(|label| columns.append(label.into()));
        columns
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if there are no columns.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Iterates over the headings of the columns. They are unique: repeated labels, and labels that
    /// equal a reserved name, are numbered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Returns the answer for each column, `None` for a column without one. New labels get new
    /// columns.
    pub fn place<'a>(&mut self, answers: &'a Answers) -> Vec<Option<Answer<'a>>> {
        let mut cells = vec![None; self.len()];
        let mut occurrences: HashMap<_, usize> = HashMap::new();
        let mut hint = 0;
        for (label, answer) in answers.fields() {
            let nth = occurrences.entry(label.clone()).or_default();
            let column = self.locate(&label, *nth, hint);
            *nth += 1;
            hint = column + 1;
            if cells.len() <= column {
                cells.resize(column + 1, None);
            }
            cells[column] = Some(answer);
        }
        cells
    }

    /// Returns the column of the `nth` occurrence of a label, counted from 0. Appends the column if
    /// it does not exist. `hint` is the expected column, normally the one after the previous
    /// label's.
    pub fn locate(&mut self, label: &str, nth: usize, hint: usize) -> usize {
        if self.keys.get(hint).is_some_and(|(known, at)| **known == *label && *at == nth) {
            return hint;
        }
        loop {
            if let Some(column) = self.index.get(label).and_then(|known| known.columns.get(nth)) {
                return *column;
            }
            self.append(label.into());
        }
    }

    fn append(&mut self, label: Box<str>) {
        let column = self.keys.len();
        let known = self.index.entry(label.clone()).or_default();
        let nth = known.columns.len();
        known.columns.push(column);
        let mut name = label.clone();
        known.number = known.number.max(1);
        // No number is tried twice, so many equal headings take linear time.
        while !self.taken.insert(name.clone()) {
            known.number += 1;
            name = format!("{label} ({})", known.number).into();
        }
        self.keys.push((label, nth));
        self.names.push(name);
    }
}

/// A linked list of labels: an insertion takes constant time.
#[derive(Default)]
struct Order {
    links: Vec<Link>,
    by_key: HashMap<Key, usize>,
    first: Option<usize>,
    last: Option<usize>,
}

struct Link {
    label: Box<str>,
    next: Option<usize>,
}

impl Order {
    /// Returns the index of the key in `links`. Inserts a new key after the link `before`, or first
    /// if `before` is `None`.
    fn place(&mut self, key: Key, before: Option<usize>) -> usize {
        let (at, label) = (self.links.len(), key.0.clone());
        let found = *self.by_key.entry(key).or_insert(at);
        if found == at {
            let to_here = match before {
                Some(before) => &mut self.links[before].next,
                None => &mut self.first,
            };
            let next = to_here.replace(at);
            if next.is_none() {
                self.last = Some(at);
            }
            self.links.push(Link { label, next });
        }
        found
    }

    fn labels(&self) -> impl Iterator<Item = &str> {
        let link = |at: usize| &self.links[at];
        std::iter::successors(self.first.map(link), move |here| here.next.map(link))
            .map(|here| &*here.label)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(columns: &Columns) -> Vec<&str> {
        columns.names().collect()
    }

    #[test]
    fn optional_labels_keep_the_order_of_the_form() {
        let columns = Columns::lay_out(
            &[],
            [vec!["a", "c"], vec!["b", "c"], vec!["a", "b", "c", "d"], vec!["z", "a"]],
        );
        assert_eq!(names(&columns), ["z", "b", "a", "c", "d"]);
        let columns =
            Columns::lay_out(&[], [vec!["a", "c", "e"], vec!["a", "b", "c"], vec!["c", "d", "e"]]);
        assert_eq!(names(&columns), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn labels_of_an_unrelated_submission_go_last() {
        let columns = Columns::lay_out(&[], [vec!["a", "b"], vec!["x", "y"], vec!["b", "c"]]);
        assert_eq!(names(&columns), ["a", "b", "c", "x", "y"]);
    }

    #[test]
    fn late_label_is_appended_and_none_moves() {
        let mut columns = Columns::lay_out(&[], [["a", "b"]]);
        assert_eq!(columns.locate("new", 0, 0), 2);
        assert_eq!(columns.locate("a", 0, 0), 0);
        assert_eq!(columns.locate("b", 0, 0), 1);
        assert_eq!(columns.locate("new", 0, 2), 2);
        assert_eq!(names(&columns), ["a", "b", "new"]);
    }

    #[test]
    fn repeated_label_has_a_column_per_occurrence() {
        let mut columns = Columns::lay_out(&["id"], [["a", "a", "id"]]);
        assert_eq!(names(&columns), ["a", "a (2)", "id (2)"]);
        assert_eq!(columns.locate("a", 1, 0), 1);
        assert_eq!(columns.locate("a", 3, 0), 4);
        assert_eq!(columns.locate("a (2)", 0, 0), 5);
        assert_eq!(names(&columns), ["a", "a (2)", "id (2)", "a (3)", "a (4)", "a (2) (2)"]);
    }

    #[test]
    fn colliding_headings_take_linear_time() {
        let taken = (2..20_002).map(|number| format!("q ({number})"));
        let labels: Vec<String> =
            taken.chain(std::iter::repeat_n("q".to_owned(), 20_000)).collect();
        let columns = Columns::lay_out(&[], [labels.iter().map(String::as_str)]);
        assert_eq!(names(&columns)[20_001], "q (20002)");
        assert_eq!(columns.len(), 40_000);
    }

    #[test]
    fn answer_finds_its_column_in_any_spelling_and_order() {
        let mut columns = Columns::new(&[]);
        for (answers, cells) in [
            (r#"{"a":1,"é":2}"#, vec![Some("1"), Some("2")]),
            (r#"{"a":3,"\u00e9":4}"#, vec![Some("3"), Some("4")]),
            (r#"{"é":5,"a":6}"#, vec![Some("6"), Some("5")]),
            (r#"{"é":7}"#, vec![None, Some("7")]),
            (r#"{"a":8,"a":9,"é":10}"#, vec![Some("8"), Some("10"), Some("9")]),
            (r#"{"é":11,"a":12}"#, vec![Some("12"), Some("11"), None]),
            (r#"{"a":13,"\u0061":14}"#, vec![Some("13"), None, Some("14")]),
        ] {
            let answers = Answers::parse(answers).unwrap();
            let placed = columns.place(&answers);
            let placed: Vec<_> = placed.iter().map(|cell| cell.map(Answer::as_json)).collect();
            assert_eq!(placed, cells, "{}", answers.as_json());
        }
    }

    proptest! {
        #[test]
        fn names_are_unique_and_positions_stable(
            rows in prop::collection::vec(prop::collection::vec("[a-c]( \\([2-3]\\))?", 0..6), 0..20),
            first in 0_usize..5,
        ) {
            let first = first.min(rows.len());
            let labels = rows[..first].iter().map(|row| row.iter().map(String::as_str));
            let mut columns = Columns::lay_out(&["id", "a"], labels);
            let mut given = HashMap::new();
            for row in &rows {
                let mut seen: HashMap<&str, usize> = HashMap::new();
                for (hint, label) in row.iter().enumerate() {
                    let nth = seen.entry(label).and_modify(|nth| *nth += 1).or_insert(0);
                    let at = columns.locate(label, *nth, hint);
                    prop_assert_eq!(*given.entry((label, *nth)).or_insert(at), at);
                }
            }
            let names = names(&columns);
            prop_assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
            prop_assert_eq!(names.len(), columns.len());
        }
    }
}
