//! One answer as the text of a table cell.

use std::borrow::Cow;

use formsvc_protocol::text_of;

/// The text of a cell, and whether a stranger could have chosen its first character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// Free text, which the formula guard must look at; false for JSON numbers, booleans and null,
    /// whose grammar holds no formula.
    pub free: bool,
}

impl Cell<'_> {
    /// The cell with text of its own.
    pub fn into_owned(self) -> Cell<'static> {
        Cell { text: Cow::Owned(self.text.into_owned()), free: self.free }
    }
}

/// An answer, given as its JSON literal, as a cell: text as it is, numbers with their exact digits, `true` and `false`, null as
/// nothing, lists and objects as their JSON text.
///
/// Text that is not Unicode (a lone `\ud800` escape) stays as its JSON literal, quotes and all, so
/// that it can still be told apart.
pub fn cell(json: &str) -> Cell<'_> {
    match json.as_bytes().first() {
        Some(b'"') => Cell { text: text_of(json), free: true },
        Some(b'n') => Cell { text: Cow::Borrowed(""), free: false },
        // A list or object begins with a bracket, a number with a digit or a sign it may keep.
        _ => Cell { text: Cow::Borrowed(json), free: false },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        cell(json).text.into_owned()
    }

    #[test]
    fn values_read_as_people_wrote_them() {
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
    fn text_that_is_not_unicode_keeps_its_literal() {
        assert_eq!(text(r#""a\ud800""#), r#""a\ud800""#);
    }
}
