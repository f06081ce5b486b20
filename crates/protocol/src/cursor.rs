//! The cursor of the submissions list, as clients see it.

use serde::{Deserialize, Serialize};

/// A place in a list (SPEC §2, `next_cursor`). Opaque: clients store it and send it back
/// unchanged, and never read, shorten or re-print it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(String);

impl Cursor {
    /// Takes the text as it is. Text that came from a service needs no check; a cursor typed by
    /// hand is judged by the service (400 `bad_request`).
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text to send.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
