//! Collects all violations that a test of the source tree finds, with file and line.

use std::fmt::Display;

/// A list of violations. [`assert_none`](Self::assert_none) prints each as `file:line: what`.
#[derive(Debug, Default)]
pub struct Findings(Vec<String>);

impl Findings {
    /// Adds a violation in a line (from 1).
    pub fn at(&mut self, path: &str, line: usize, what: impl Display) {
        self.0.push(format!("{path}:{line}: {what}"));
    }

    /// Adds a violation in a whole file or package.
    pub fn of(&mut self, path: &str, what: impl Display) {
        self.0.push(format!("{path}: {what}"));
    }

    /// Adds every line of a text that matches the predicate.
    pub fn lines(&mut self, path: &str, text: &str, fault: impl Fn(&str) -> Option<String>) {
        for (at, line) in text.lines().enumerate() {
            if let Some(what) = fault(line) {
                self.at(path, at + 1, what);
            }
        }
    }

    /// Returns the violations as they are printed.
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Panics with the whole list unless it is empty.
    #[track_caller]
    pub fn assert_none(self, rule: &str) {
        assert!(self.0.is_empty(), "{rule}\n{}\n", self.0.join("\n"));
    }
}
