//! Pages of the submissions list (SPEC §4).

use serde::{Deserialize, Serialize};

use crate::Cursor;
use crate::wire_object::wire_object;

wire_object! {
    /// One page of a list.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Page<T> {
        /// The items, newest first.
        data: Vec<T>,
        /// The position of the next page.
        pagination: Pagination,
    }
}

/// The pagination object (SPEC §2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PaginationMembers")]
pub struct Pagination {
    /// The `cursor` of the next request. `None` for `null`, an empty text or a missing member.
    pub next_cursor: Option<Cursor>,
    /// True if more items remain. This alone decides whether the list continues.
    pub has_more: bool,
}

wire_object! {
    /// The pagination object as it is sent.
    struct PaginationMembers {
        next_cursor: Option<Cursor> = None,
        has_more: bool,
    }
}

impl From<PaginationMembers> for Pagination {
    fn from(members: PaginationMembers) -> Self {
        let next_cursor = members.next_cursor.filter(|cursor| !cursor.as_str().is_empty());
        Self { next_cursor, has_more: members.has_more }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_null_empty_or_missing_is_none() {
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
    fn array_in_place_of_an_object_is_an_error() {
        for text in ["[null,false]", r#"[[],{"has_more":false}]"#] {
            let error = serde_json::from_str::<Pagination>(text).unwrap_err().to_string();
            assert!(error.starts_with("invalid type: sequence, expected an object"), "{error}");
            assert!(serde_json::from_str::<Page<crate::Submission>>(text).is_err());
        }
    }

    #[test]
    fn repeated_member_is_an_error_that_names_it() {
        let text = r#"{"has_more":false,"has_more":true}"#;
        let error = serde_json::from_str::<Pagination>(text).unwrap_err().to_string();
        assert!(error.starts_with("duplicate field `has_more`"), "{error}");
    }
}
