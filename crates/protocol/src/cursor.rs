//! The cursor of the submissions list.

use serde::{Deserialize, Serialize};

/// A position in a list (SPEC §2, `next_cursor`). Opaque text: clients store it and send it back
/// unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// Creates a cursor without checking the text. The service answers an invalid cursor with 400
    /// `bad_request`.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text to send.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
