//! Why a file was not imported.

use formsvc_protocol::is_unsafe_in_terminals;

use crate::admin::AdminError;
use crate::staging::Stopped;
use crate::store::StoreError;

/// Longest part of a value that a message shows, in characters.
const SHOWN_MAX: usize = 60;

/// A file was not imported; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file cannot be read.
    #[error("the file cannot be read")]
    Read(#[from] std::io::Error),
    /// The file breaks a rule of its format.
    #[error(transparent)]
    Content(#[from] Flaw),
    /// The file is not one JSON array; the source says where.
    #[error("the file is not one JSON array of objects or texts")]
    NotAnArray(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The form was refused, or the store failed.
    #[error(transparent)]
    Admin(#[from] AdminError),
}

impl From<Stopped> for ImportError {
    /// Never shown: when a load is stopped, what stopped it is its outcome.
    fn from(Stopped: Stopped) -> Self {
        Self::Admin(StoreError::Unavailable(None).into())
    }
}

/// The first place where a file breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {} {rule}", named(.value))]
#[non_exhaustive]
pub struct Flaw {
    /// Where, such as "line 3, column `Age`".
    pub place: String,
    /// The value found, shortened.
    pub value: String,
    /// The rule it breaks, as the end of a sentence.
    pub rule: String,
}

impl Flaw {
    pub(super) fn new(place: impl Into<String>, value: &[u8], rule: impl Into<String>) -> Self {
        Self { place: place.into(), value: shown(value), rule: rule.into() }
    }

    pub(super) fn at_line(line: u64, value: &[u8], rule: impl Into<String>) -> Self {
        Self::new(format!("line {line}"), value, rule)
    }
}

/// A value as the subject of a sentence.
fn named(value: &str) -> String {
    if value.is_empty() { "it".to_owned() } else { format!("`{value}`") }
}

/// The beginning of a value on one line, whatever is in it.
fn shown(value: &[u8]) -> String {
    // A character has at most four bytes.
    let start = &value[..value.len().min(4 * SHOWN_MAX)];
    let text = String::from_utf8_lossy(start);
    let mut shown = String::new();
    for c in text.chars().take(SHOWN_MAX) {
        if is_unsafe_in_terminals(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    if text.chars().count() > SHOWN_MAX || start.len() < value.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_and_short() {
        let flaw = Flaw::at_line(7, b"a\n\x1b[31m\xe2\x80\xae\xff", "is not UTF-8");
        assert_eq!(flaw.to_string(), "line 7: `a\\n\\u{1b}[31m\\u{202e}\u{fffd}` is not UTF-8");
        let long = Flaw::at_line(1, "é".repeat(10_000).as_bytes(), "is long");
        assert_eq!(long.value, format!("{}…", "é".repeat(60)));
    }
}
