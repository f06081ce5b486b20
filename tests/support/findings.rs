//! What a test of the tree found wrong: all of it at once, each with the place to go to.

use std::fmt::Display;

/// A list of faults; [`assert_none`](Self::assert_none) shows every one as `file:line: what`.
#[derive(Debug, Default)]
pub struct Findings(Vec<String>);

impl Findings {
    /// Notes a fault of a line (from 1).
    pub fn at(&mut self, path: &str, line: usize, what: impl Display) {
        self.0.push(format!("{path}:{line}: {what}"));
    }

    /// Notes a fault of a whole file or package.
    pub fn of(&mut self, path: &str, what: impl Display) {
        self.0.push(format!("{path}: {what}"));
    }

    /// Notes every line of a text that the predicate calls a fault.
    pub fn lines(&mut self, path: &str, text: &str, fault: impl Fn(&str) -> Option<String>) {
        for (at, line) in text.lines().enumerate() {
            if let Some(what) = fault(line) {
                self.at(path, at + 1, what);
            }
        }
    }

    /// The faults as they will be shown.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Panics with the whole list unless it is empty.
    #[track_caller]
    pub fn assert_none(self, rule: &str) {
        assert!(self.0.is_empty(), "{rule}\n{}\n", self.0.join("\n"));
    }
}
