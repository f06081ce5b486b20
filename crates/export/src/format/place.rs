//! Which column each answer of a row goes to.

use crate::answers::for_each_literal;
use crate::cell::text_of;
use crate::columns::Columns;

/// Puts answers into columns, opening new ones for labels not met before.
#[derive(Debug)]
pub(super) struct Places {
    pub(super) columns: Columns,
    /// How each column's label was spelled in JSON when it was met last; submissions of one form
    /// spell it alike, so that it need not be decoded each time. Columns of repeats have none.
    spellings: Vec<Option<Box<str>>>,
}

impl Places {
    pub(super) fn new(columns: Columns) -> Self {
        Self { columns, spellings: Vec::new() }
    }

    /// The JSON literal of each column's value in a row; `None` when the text is no JSON object.
    pub(super) fn place<'a>(
        &mut self,
        answers: &'a str,
        cells: &mut Vec<Option<&'a str>>,
    ) -> Option<()> {
        cells.clear();
        cells.resize(self.columns.len(), None);
        let mut next = 0;
        for_each_literal(answers, |label, value| {
            let column = match (cells.get(next), self.spellings.get(next)) {
                (Some(None), Some(Some(spelling))) if **spelling == *label => next,
                _ => self.find(label, next, cells),
            };
            if cells.len() <= column {
                cells.resize(column + 1, None);
            }
            cells[column] = Some(value);
            next = column + 1;
        })
    }

    /// The column of a label, by its text.
    fn find(&mut self, literal: &str, hint: usize, cells: &[Option<&str>]) -> usize {
        let label = text_of(literal);
        let mut nth = 0;
        let mut column = self.columns.locate(&label, nth, hint);
        // Taken means that the submission repeats the label.
        while cells.get(column).is_some_and(Option::is_some) {
            nth += 1;
            column = self.columns.locate(&label, nth, column + 1);
        }
        if nth == 0 {
            if self.spellings.len() <= column {
                self.spellings.resize(column + 1, None);
            }
            self.spellings[column] = Some(literal.into());
        }
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed<'a>(places: &mut Places, answers: &'a str) -> Vec<Option<&'a str>> {
        let mut cells = Vec::new();
        places.place(answers, &mut cells).unwrap();
        cells
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
            assert_eq!(placed(&mut places, answers), cells, "{answers}");
        }
    }
}
