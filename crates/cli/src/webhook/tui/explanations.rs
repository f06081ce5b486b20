//! Why signatures are not right, as far as somebody asked: one search of each delivery at a time.

use std::collections::VecDeque;

use super::doc::Doc;
use crate::webhook::capture::CaptureNumber;

/// Explanations that are remembered.
const FOUND_MAX: usize = 20;

/// What was asked for.
#[derive(Debug, Default)]
pub(super) struct Explanations(VecDeque<(CaptureNumber, Explanation)>);

/// How far it is with one.
#[derive(Debug)]
pub(super) enum Explanation {
    Searching,
    Found(Doc),
}

impl Explanations {
    /// Somebody asks; says whether a search is to begin.
    pub(super) fn ask(&mut self, number: CaptureNumber) -> bool {
        if self.of(number).is_some() {
            return false;
        }
        self.0.push_front((number, Explanation::Searching));
        true
    }

    /// A search has ended: with what it found, or with nothing, and then it can be tried again.
    pub(super) fn ended(&mut self, number: CaptureNumber, found: Option<Doc>) {
        self.0.retain(|(other, _)| *other != number);
        if let Some(doc) = found {
            self.0.push_front((number, Explanation::Found(doc)));
        }
        let mut count = 0;
        self.0.retain(|(_, explanation)| match explanation {
            Explanation::Searching => true,
            Explanation::Found(_) => {
                count += 1;
                count <= FOUND_MAX
            }
        });
    }

    pub(super) fn of(&self, number: CaptureNumber) -> Option<&Explanation> {
        self.0.iter().find(|(other, _)| *other == number).map(|(_, explanation)| explanation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_search_of_a_delivery_runs_at_a_time_and_what_it_found_is_remembered() {
        let mut all = Explanations::default();
        assert!(all.ask(1) && !all.ask(1) && all.ask(2));
        all.ended(1, None);
        assert!(all.of(1).is_none() && all.ask(1), "what failed is tried again");
        all.ended(1, Some(Doc::default()));
        assert!(!all.ask(1) && matches!(all.of(1), Some(Explanation::Found(_))));
        (10..100).for_each(|number| all.ended(number, Some(Doc::default())));
        assert_eq!(all.0.len(), FOUND_MAX + 1);
        assert!(!all.ask(2), "a search that runs is not forgotten");
    }
}
