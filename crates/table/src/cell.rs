//! The text of an answer in a table.

use std::borrow::Cow;

/// The text of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// True for free text, to which the formula guard applies. False for JSON numbers, booleans,
    /// lists, objects and null, which cannot be formulas.
    pub free: bool,
}
