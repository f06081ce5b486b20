//! The text of an answer in a table.

use std::borrow::Cow;

use crate::Value;

/// The text of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// True for free text, to which the formula guard applies. False for JSON numbers, booleans,
    /// lists, objects and null, which cannot be formulas.
    pub free: bool,
}

impl Cell<'_> {
    /// Creates an empty cell.
    pub fn empty() -> Self {
        Self { text: Cow::Borrowed(""), free: false }
    }

    /// Copies the text into the cell.
    pub fn into_owned(self) -> Cell<'static> {
        Cell { text: Cow::Owned(self.text.into_owned()), free: self.free }
    }
}

/// Returns the cell of an answer, given as JSON: text without quotation marks, numbers with their
/// exact digits, `true` and `false`, nothing for null, JSON for lists and objects.
///
/// Text that contains a lone surrogate escape (`\ud800`) stays a JSON literal.
pub fn cell(json: &str) -> Cell<'_> {
    Value::parse(json).into_cell()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        cell(json).text.into_owned()
    }

    #[test]
    fn answers_become_readable_text() {
        assert_eq!(text(r#""plain""#), "plain");
        assert_eq!(text(r#""tab\tquote\" \u00e9""#), "tab\tquote\" é");
        assert_eq!(text("-0.10e+400"), "-0.10e+400");
        assert_eq!(text("123456789012345678901234567890"), "123456789012345678901234567890");
        assert_eq!(text("true"), "true");
        assert_eq!(text("null"), "");
        assert_eq!(text(r#"["a", "b"]"#), r#"["a", "b"]"#);
        assert_eq!(text(r#"{"k":[]}"#), r#"{"k":[]}"#);
        assert_eq!(text(r#""""#), "");
    }

    #[test]
    fn lone_surrogate_stays_a_literal() {
        assert_eq!(text(r#""a\ud800""#), r#""a\ud800""#);
    }
}
