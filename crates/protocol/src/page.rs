//! Pages of the submissions list (SPEC §4): owned for callers, borrowed for whoever must not pay
//! for copies.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::Cursor;

/// One page, owned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The items, newest first.
    pub data: Vec<T>,
    /// Where the list goes on.
    pub pagination: Pagination,
}

/// The pagination object (SPEC §2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pagination {
    /// To be passed as `cursor` in the next request. `null`, missing and empty all read as `None`.
    #[serde(default, deserialize_with = "cursor_or_nothing")]
    pub next_cursor: Option<Cursor>,
    /// Whether more submissions remain; this alone decides.
    pub has_more: bool,
}

fn cursor_or_nothing<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cursor>, D::Error> {
    let cursor = Option::<Cursor>::deserialize(deserializer)?;
    Ok(cursor.filter(|cursor| !cursor.as_str().is_empty()))
}

/// One page that borrows from the text it was read from; nothing is copied unless it is escaped.
#[derive(Debug, Deserialize)]
pub struct PageRef<'a> {
    /// The submissions, newest first.
    #[serde(borrow)]
    pub data: Vec<SubmissionRef<'a>>,
    /// Where the list goes on.
    pub pagination: Pagination,
}

/// One submission that borrows, its members unchecked: see [`SubmissionId::check`], [`Answers::check`]
/// and [`Timestamp::micros_of`].
///
/// [`SubmissionId::check`]: crate::SubmissionId::check
/// [`Answers::check`]: crate::Answers::check
/// [`Timestamp::micros_of`]: crate::Timestamp::micros_of
#[derive(Deserialize)]
pub struct SubmissionRef<'a> {
    /// Identifier.
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    /// The answers as exact text.
    #[serde(borrow)]
    pub data: &'a RawValue,
    /// When it was made.
    #[serde(borrow)]
    pub created_at: Cow<'a, str>,
}

/// Without the answers, which do not belong in logs.
impl std::fmt::Debug for SubmissionRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SubmissionRef")
            .field("id", &self.id)
            .field("data", &format_args!("{} bytes", self.data.get().len()))
            .field("created_at", &self.created_at)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cursor_reads_the_same_in_all_three_spellings() {
        for text in [
            r#"{"next_cursor":null,"has_more":false}"#,
            r#"{"next_cursor":"","has_more":false}"#,
            r#"{"has_more":false}"#,
        ] {
            let pagination: Pagination = serde_json::from_str(text).unwrap();
            assert_eq!(pagination, Pagination { next_cursor: None, has_more: false }, "{text}");
        }
    }

    #[test]
    fn the_borrowed_page_copies_nothing_that_has_no_escapes() {
        let text = r#"{"data":[{"id":"sub_1","data":{"a":1.0},"created_at":"2026-01-01T00:00:00.000Z","x":[]}],"pagination":{"next_cursor":"c","has_more":true}}"#;
        let page: PageRef<'_> = serde_json::from_str(text).unwrap();
        assert!(matches!(page.data[0].id, Cow::Borrowed("sub_1")));
        assert_eq!(page.data[0].data.get(), r#"{"a":1.0}"#);
    }
}
