//! What a format writes: one submission, borrowed from its page.

use formsvc_client::{Literals, Row};

/// One submission as text.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The whole of it as JSON, where its page has that.
    pub text: Option<&'a str>,
    /// Identifier.
    pub id: &'a str,
    /// The answers: one JSON object, exact text.
    pub data: &'a str,
    /// The same as the literals it is made of.
    pub answers: Literals<'a>,
    /// When it was made: RFC 3339, UTC, milliseconds.
    pub created_at: &'a str,
}

impl<'a> From<Row<'a>> for Record<'a> {
    fn from(row: Row<'a>) -> Self {
        Self {
            text: row.text(),
            id: row.id(),
            data: row.data(),
            answers: row.answers(),
            created_at: row.created_at(),
        }
    }
}
