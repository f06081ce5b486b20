//! The text of the chosen delivery: what came, what was answered, and what it is worth.

mod answers;
mod body;
mod request;
mod verdict;

use std::collections::VecDeque;
use std::sync::Arc;

use super::doc::{Doc, Part};
use super::explanations::Explanations;
use super::facts::Facts;
use super::keys::Action;
use super::list::List;
use super::replay::Replayed;
use super::row::RowKey;
use crate::output::Look;
use crate::webhook::attempts::AttemptPause;
use crate::webhook::capture::Capture;
use crate::webhook::store::Listed;

/// The parts of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    #[default]
    Request,
    Answers,
    Verdict,
}

impl Tab {
    /// Every part, in the order they stand in.
    pub(super) const ALL: [Self; 3] = [Self::Request, Self::Answers, Self::Verdict];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Answers => "Answers",
            Self::Verdict => "Verdict",
        }
    }
}

/// A delivery, read from the store.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub(super) capture: Arc<Capture>,
    /// The attempts of its submission, in the order they came, each with the pause before it.
    pub(super) attempts: Vec<(Listed, Option<AttemptPause>)>,
    /// Whether there were more of them.
    pub(super) attempts_cut: bool,
    /// Whether commands find it by its number, which they do not in a store in memory.
    pub(super) is_shared: bool,
}

/// Why there is nothing to show of a delivery.
#[derive(Debug)]
enum Missing {
    /// It is no longer there.
    Gone,
    /// It could not be read, and why.
    Failed(String),
}

/// What else is known that it shows.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) facts: &'a Facts,
    pub(super) replays: &'a VecDeque<Replayed>,
    pub(super) explanations: &'a Explanations,
}

/// The text, and what of it is on the screen.
#[derive(Debug, Default)]
pub(super) struct Detail {
    pub(super) tab: Tab,
    /// Whether bodies are shown as they came.
    raw: bool,
    key: Option<RowKey>,
    loaded: Option<Loaded>,
    /// What was heard of it last, which may be before it was read.
    heard: Option<Arc<Capture>>,
    /// Why there is nothing to show, where that is known.
    missing: Option<Missing>,
    rows: Vec<Vec<Part>>,
    top: usize,
    height: usize,
    /// What the rows were made for: their width. None when they are out of date.
    width: Option<usize>,
}

impl Detail {
    /// The delivery, once it was read.
    pub(super) fn capture(&self) -> Option<Arc<Capture>> {
        self.loaded.as_ref().map(|loaded| Arc::clone(&loaded.capture))
    }

    /// Chooses another one; says whether it is another.
    pub(super) fn choose(&mut self, key: Option<RowKey>) -> bool {
        if self.key == key {
            return false;
        }
        *self = Self { tab: self.tab, raw: self.raw, key, ..Self::default() };
        true
    }

    pub(super) fn loaded(&mut self, loaded: Loaded) {
        if self.key != loaded.capture.number.map(RowKey::Number) {
            return;
        }
        // What was heard of is newer than what was kept.
        let known = [self.heard.clone(), self.capture()].into_iter().flatten();
        let known = known.into_iter().find(|known| known.outcome.is_some());
        let capture = known.unwrap_or_else(|| Arc::clone(&loaded.capture));
        self.loaded = Some(Loaded { capture, ..loaded });
        self.outdate();
    }

    /// It is no longer there.
    pub(super) fn gone(&mut self, key: RowKey) {
        self.misses(key, Missing::Gone);
    }

    /// It could not be read.
    pub(super) fn failed(&mut self, key: RowKey, why: String) {
        self.misses(key, Missing::Failed(why));
    }

    fn misses(&mut self, key: RowKey, missing: Missing) {
        if self.key == Some(key) && self.loaded.is_none() {
            self.missing = Some(missing);
            self.outdate();
        }
    }

    /// What is to be read once more, where that failed.
    pub(super) fn try_again(&mut self) -> Option<RowKey> {
        if !matches!(self.missing, Some(Missing::Failed(_))) {
            return None;
        }
        self.missing = None;
        self.outdate();
        self.key
    }

    /// The delivery was answered.
    pub(super) fn came(&mut self, key: RowKey, capture: &Arc<Capture>) {
        if self.key == Some(key) {
            self.heard = Some(Arc::clone(capture));
        }
        if let Some(loaded) = self.loaded.as_mut().filter(|_| self.key == Some(key)) {
            loaded.capture = Arc::clone(capture);
            self.outdate();
        }
    }

    /// Attempts are answered as the list has it: what was read of them may be from before that.
    pub(super) fn answer_attempts(&mut self, list: &List) {
        let Some(loaded) = &mut self.loaded else { return };
        let open = loaded.attempts.iter_mut().filter(|(listed, _)| listed.outcome.is_none());
        for (listed, _) in open {
            let row = list.rows().iter().find(|row| row.number == listed.number);
            if let Some(answer) = row.and_then(|row| row.answer.clone()) {
                listed.outcome = Some(answer);
                self.width = None;
            }
        }
    }

    /// What it shows is made anew.
    pub(super) fn outdate(&mut self) {
        self.width = None;
    }

    /// To the next part, or to the one before.
    pub(super) fn show_next(&mut self, forward: bool) {
        let at = Tab::ALL.iter().position(|tab| *tab == self.tab).unwrap_or(0);
        let step = if forward { 1 } else { Tab::ALL.len() - 1 };
        self.show(Tab::ALL[(at + step) % Tab::ALL.len()]);
    }

    pub(super) fn show_answers(&mut self) {
        self.show(Tab::Answers);
    }

    pub(super) fn show_verdict(&mut self) {
        self.show(Tab::Verdict);
    }

    fn show(&mut self, tab: Tab) {
        (self.tab, self.top) = (tab, 0);
        self.outdate();
    }

    /// Bodies laid out, or as they came.
    pub(super) fn turn_body(&mut self) {
        self.raw = !self.raw;
        self.outdate();
    }

    pub(super) fn scroll(&mut self, action: Action) {
        let page = self.height.saturating_sub(1).max(1);
        self.top = match action {
            Action::Up => self.top.saturating_sub(1),
            Action::Down => self.top + 1,
            Action::PageUp => self.top.saturating_sub(page),
            Action::PageDown => self.top + page,
            Action::Last => self.rows.len(),
            _ => 0,
        };
    }

    /// The rows on the screen.
    pub(super) fn shown(&self) -> &[Vec<Part>] {
        let end = (self.top + self.height).min(self.rows.len());
        &self.rows[self.top.min(end)..end]
    }

    /// The first row on the screen, how many there are in all, and how many the screen has.
    pub(super) fn place(&self) -> (usize, usize, usize) {
        (self.top, self.rows.len(), self.height)
    }

    /// Fits it to the screen.
    pub(super) fn lay_out(&mut self, width: usize, height: usize, known: Known<'_>) {
        if self.width != Some(width) {
            self.rows = self.doc(known).rows(width);
            self.width = Some(width);
        }
        self.height = height;
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    fn doc(&self, known: Known<'_>) -> Doc {
        let Known { facts, replays, explanations } = known;
        let Some(loaded) = &self.loaded else { return self.nothing() };
        let mut doc = Doc::default();
        match self.tab {
            Tab::Request => request::write(&mut doc, &loaded.capture, facts, self.raw),
            Tab::Answers => answers::write(&mut doc, &loaded.capture, facts, replays, self.raw),
            Tab::Verdict => verdict::write(&mut doc, loaded, facts, explanations),
        }
        doc
    }

    /// What is said where there is nothing to show.
    fn nothing(&self) -> Doc {
        let mut doc = Doc::default();
        let (look, text) = match (self.key, &self.missing) {
            (None, _) => (Look::Past, String::new()),
            (Some(RowKey::At(_)), _) => {
                let text = "This one could not be kept, so there is no more of it.";
                (Look::Past, text.to_owned())
            }
            (Some(_), Some(Missing::Gone)) => {
                (Look::Past, "This one is no longer kept: the oldest go first.".to_owned())
            }
            (Some(_), Some(Missing::Failed(why))) => {
                (Look::Bad, format!("It could not be read: {why}. Ctrl-L tries again."))
            }
            (Some(_), None) => (Look::Past, "…".to_owned()),
        };
        doc.line(&[(look, &text)]);
        doc
    }
}
