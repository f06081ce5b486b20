//! Text as a JSON string.

/// The text between quotes, with what JSON asks for escaped.
pub(crate) fn json_text(text: &str) -> String {
    serde_json::to_string(text).expect("text is JSON")
}
