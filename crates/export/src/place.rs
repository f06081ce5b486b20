//! Which column each answer of a row goes to.

use std::collections::HashMap;

use formsvc_protocol::{Literal, Literals, text_of};

use crate::columns::Columns;

/// Questions left out in a row for which looking ahead is quicker than looking up.
const LEFT_OUT_MAX: usize = 7;

/// Puts answers into columns, opening new ones for labels not met before.
///
/// ```
/// use formsvc_client::{AnswerPlace, Literals};
/// use formsvc_export::{Columns, Places, cell};
/// let answers = r#"{"Age":41,"Town":"Ulm"}"#;
/// let found = AnswerPlace::of(answers).expect("it is an object");
/// let mut places = Places::new(Columns::lay_out(&["id"], [["Name", "Age"]]));
/// let mut cells = Vec::new();
/// places.place(Literals::new(answers, &found), &mut cells);
/// let cells: Vec<_> = cells.into_iter().map(|value| value.map(|value| cell(value.text).text)).collect();
/// assert_eq!(cells, [None, Some("41".into()), Some("Ulm".into())]);
/// assert_eq!(places.columns().names().collect::<Vec<_>>(), ["Name", "Age", "Town"]);
/// ```
#[derive(Debug)]
pub struct Places {
    columns: Columns,
    /// How each column's label was spelled in JSON when it was met last; submissions of one form
    /// spell it alike, so that it need not be decoded each time. Columns of repeats have none.
    spellings: Vec<Option<Box<str>>>,
}

impl Places {
    /// Places for the columns so far.
    pub fn new(columns: Columns) -> Self {
        Self { columns, spellings: Vec::new() }
    }

    /// The columns, with those opened meanwhile.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Puts the JSON literal of each answer into the place of its column, after clearing `cells`.
    pub fn place<'a>(&mut self, answers: Literals<'a>, cells: &mut Vec<Option<Literal<'a>>>) {
        cells.clear();
        cells.resize(self.columns.len(), None);
        let (mut next, mut repeats) = (0, HashMap::new());
        for (label, value) in answers.iter() {
            let column = self
                .ahead(label, next)
                .filter(|column| cells.get(*column).is_none_or(Option::is_none))
                .unwrap_or_else(|| self.find(label, next, cells, &mut repeats));
            if cells.len() <= column {
                cells.resize(column + 1, None);
            }
            cells[column] = Some(value);
            next = column + 1;
        }
    }

    /// The column of a label that is spelled as before and stands where it is expected, or after a
    /// few questions that were left out.
    fn ahead(&self, label: &str, next: usize) -> Option<usize> {
        let ahead = self.spellings.iter().skip(next).take(LEFT_OUT_MAX + 1);
        let spelled = ahead.map(Option::as_deref).position(|spelling| spelling == Some(label));
        spelled.map(|skipped| next + skipped)
    }

    /// The column of a label, by its text. `repeats` counts, by first column, how often the row has
    /// repeated a label.
    fn find(
        &mut self,
        literal: &str,
        hint: usize,
        cells: &[Option<Literal<'_>>],
        repeats: &mut HashMap<usize, usize>,
    ) -> usize {
        let label = text_of(literal);
        let column = self.columns.locate(&label, 0, hint);
        if cells.get(column).is_some_and(Option::is_some) {
            let nth = repeats.entry(column).and_modify(|nth| *nth += 1).or_insert(1);
            return self.columns.locate(&label, *nth, hint);
        }
        if self.spellings.len() <= column {
            self.spellings.resize(column + 1, None);
        }
        self.spellings[column] = Some(literal.into());
        column
    }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::AnswerPlace;

    use super::*;

    #[test]
    fn a_submission_of_a_hundred_thousand_labels_takes_no_more_than_its_length() {
        let member = |n: usize| format!("\"q{}\":{n}", n % 1_000 * (n % 2));
        let answers: Vec<String> = (0..100_000).map(member).collect();
        let answers = format!("{{{}}}", answers.join(","));
        let labels: Vec<String> = (0..100_000).map(|n| format!("label {n}")).collect();
        let labels = || labels.iter().map(String::as_str);
        let mut places = Places::new(Columns::lay_out(&[], [labels(), labels()]));
        assert_eq!(placed(&mut places, &answers).iter().flatten().count(), 100_000);
    }

    fn placed(places: &mut Places, answers: &str) -> Vec<Option<String>> {
        let found = AnswerPlace::of(answers).unwrap();
        let mut cells = Vec::new();
        places.place(Literals::new(answers, &found), &mut cells);
        cells.into_iter().map(|cell| cell.map(|value| value.text.to_owned())).collect()
    }

    #[test]
    fn a_label_finds_its_column_however_it_is_spelled_and_wherever_it_stands() {
        let mut places = Places::new(Columns::new(&[]));
        for (answers, cells) in [
            (r#"{"a":1,"é":2}"#, vec![Some("1"), Some("2")]),
            (r#"{"a":3,"\u00e9":4}"#, vec![Some("3"), Some("4")]),
            (r#"{"é":5,"a":6}"#, vec![Some("6"), Some("5")]),
            (r#"{"é":7}"#, vec![None, Some("7")]),
            (r#"{"a":8,"a":9,"é":10}"#, vec![Some("8"), Some("10"), Some("9")]),
            // The column of the repeat is not taken for the label's own.
            (r#"{"é":11,"a":12}"#, vec![Some("12"), Some("11"), None]),
            (r#"{"a":13,"\u0061":14}"#, vec![Some("13"), None, Some("14")]),
            (r#"{"a":15,"é":16,"a":17}"#, vec![Some("15"), Some("16"), Some("17")]),
        ] {
            let cells: Vec<_> = cells.into_iter().map(|cell| cell.map(str::to_owned)).collect();
            assert_eq!(placed(&mut places, answers), cells, "{answers}");
        }
    }
}
