//! The choices of a label with lists as answers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::value::plain_items;

/// Choices of one label that become columns.
const CHOICES_MAX: usize = 100;
/// Bytes of such a choice.
const CHOICE_BYTES_MAX: usize = 200;

/// The different items of the lists of a label, in order of discovery.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    pub(crate) texts: Vec<Box<str>>,
    index: HashMap<Box<str>, usize>,
    /// True if there are too many choices, or too long ones.
    is_overfull: bool,
    /// True if some answers need a column of their own.
    pub(crate) has_other_answers: bool,
}

impl Choices {
    /// Adds the choices of an answer. `budget` is the number of choices that may still be stored.
    pub(crate) fn observe(&mut self, json: &str, budget: &mut usize) {
        if json == "null" || self.is_overfull {
            return;
        }
        let Some(chosen) = list_of_choices(json) else {
            self.has_other_answers = true;
            return;
        };
        for text in chosen {
            if self.index.contains_key(&*text) {
                continue;
            }
            if *budget == 0 || self.texts.len() == CHOICES_MAX || text.len() > CHOICE_BYTES_MAX {
                *self = Self { is_overfull: true, has_other_answers: true, ..Self::default() };
                return;
            }
            *budget -= 1;
            self.index.insert(text.as_ref().into(), self.texts.len());
            self.texts.push(text.into());
        }
    }

    /// Returns the positions of the choices of an answer; `None` if it needs the other column.
    pub(crate) fn chosen(&self, json: &str) -> Option<Vec<usize>> {
        list_of_choices(json)?.iter().map(|text| self.index.get(&**text).copied()).collect()
    }
}

/// Returns the items of a list if all are plain values and none occurs twice.
fn list_of_choices(json: &str) -> Option<Vec<Cow<'_, str>>> {
    let texts = plain_items(json)?;
    let distinct: HashSet<&str> = texts.iter().map(|text| &**text).collect();
    (distinct.len() == texts.len()).then_some(texts)
}
