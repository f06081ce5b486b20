//! Which column an answer goes to.

use std::collections::{HashMap, HashSet};

/// A label, and which of its appearances in one submission: JSON may repeat a key, and neither value
/// may be lost.
type Key = (Box<str>, usize);

/// The columns of a table, growing as labels are met.
///
/// The first submissions seen lay them out in the form's order; later ones only append, so a
/// position once given never changes.
#[derive(Debug, Default)]
pub struct Columns {
    keys: Vec<Key>,
    names: Vec<Box<str>>,
    index: HashMap<Box<str>, Known>,
    taken: HashSet<Box<str>>,
}

/// What is known of a label.
#[derive(Debug, Default)]
struct Known {
    /// The column of each of its appearances.
    columns: Vec<usize>,
    /// The number last tried to make a heading of it unique.
    number: usize,
}

impl Columns {
    /// No columns yet. `reserved` are names of the table's own columns; a label that equals one is
    /// shown with a number: `id (2)`.
    pub fn new(reserved: &[&str]) -> Self {
        Self { taken: reserved.iter().map(|name| (*name).into()).collect(), ..Self::default() }
    }

    /// Columns in the order of a form, from the label sequences of several of its submissions,
    /// newest first.
    ///
    /// A label that an earlier sequence skipped goes where this one has it: after the label before
    /// it. So optional questions end up in the form's order although no single submission answers
    /// all of them. Labels of a submission that shares none with those before it go last.
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

    /// How many there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The headings, each one once: a label that stands twice in a submission, or equals one of the
    /// table's own names, is numbered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// The column of the `nth` appearance of a label, appended when it is new.
    ///
    /// `hint` is where the caller expects it, normally one past the label before.
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
        // Numbers that were taken once stay taken, so that none is tried again.
        while !self.taken.insert(name.clone()) {
            known.number += 1;
            name = format!("{label} ({})", known.number).into();
        }
        self.keys.push((label, nth));
        self.names.push(name);
    }
}

/// A list that is inserted into often: as links, so that a stranger's thousands of labels cost no
/// more than their number.
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
    /// Where the key is; a new one goes after `before`, or first.
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
    fn optional_questions_end_up_in_the_forms_order() {
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
    fn late_labels_are_appended_and_nothing_moves() {
        let mut columns = Columns::lay_out(&[], [["a", "b"]]);
        assert_eq!(columns.locate("new", 0, 0), 2);
        assert_eq!(columns.locate("a", 0, 0), 0);
        assert_eq!(columns.locate("b", 0, 0), 1);
        assert_eq!(columns.locate("new", 0, 2), 2);
        assert_eq!(names(&columns), ["a", "b", "new"]);
    }

    #[test]
    fn a_repeated_label_gets_a_column_for_each_appearance() {
        let mut columns = Columns::lay_out(&["id"], [["a", "a", "id"]]);
        assert_eq!(names(&columns), ["a", "a (2)", "id (2)"]);
        assert_eq!(columns.locate("a", 1, 0), 1);
        assert_eq!(columns.locate("a", 3, 0), 4);
        assert_eq!(columns.locate("a (2)", 0, 0), 5);
        assert_eq!(names(&columns), ["a", "a (2)", "id (2)", "a (3)", "a (4)", "a (2) (2)"]);
    }

    #[test]
    fn headings_that_collide_on_purpose_cost_no_more_than_their_number() {
        let taken = (2..20_002).map(|number| format!("q ({number})"));
        let labels: Vec<String> =
            taken.chain(std::iter::repeat_n("q".to_owned(), 20_000)).collect();
        let columns = Columns::lay_out(&[], [labels.iter().map(String::as_str)]);
        assert_eq!(names(&columns)[20_001], "q (20002)");
        assert_eq!(columns.len(), 40_000);
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
