//! How much of a foreign body an error keeps and shows.

use bytes::Bytes;
use formsvc_protocol::is_unsafe_in_terminals;

use crate::api_key::ApiKey;

/// Bytes of a body an error keeps.
const KEPT: usize = 64 * 1024;
/// Characters of a body an error's text shows.
const SHOWN: usize = 200;
/// Characters of a service's message an error's text shows.
const MESSAGE_SHOWN: usize = 500;

/// The first 64 KiB of a body without the API key, should the service have echoed it.
pub(crate) fn keep(body: &[u8], key: &ApiKey) -> Bytes {
    // The cut comes after the redaction, or half a key could survive at its edge.
    let head = &body[..body.len().min(KEPT + key.len())];
    let mut clean = key.redact_bytes(head);
    clean.truncate(KEPT);
    Bytes::from(clean)
}

/// Whether a body could be JSON by its first character; HTML and plain text are not.
pub(crate) fn looks_like_json(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|b| matches!(b, b'{' | b'['))
}

/// Text from outside, made safe to print: characters a terminal would act on, and those that turn
/// the direction of writing or do not show, are escaped.
pub(crate) struct Safe<'a>(pub(crate) &'a str);

impl std::fmt::Display for Safe<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        for c in self.0.chars() {
            if is_unsafe_in_terminals(c) {
                write!(f, "{}", c.escape_default())?;
            } else {
                f.write_char(c)?;
            }
        }
        Ok(())
    }
}

/// The first 500 characters of a message, more than any service needs to say what is wrong.
pub(crate) fn short(message: &str) -> &str {
    cut(message, MESSAGE_SHOWN)
}

fn cut(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// The first 200 characters of a body, safe to print.
pub(crate) fn show(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(SHOWN * 4)]);
    let cut = cut(text.trim(), SHOWN);
    let more = if cut.len() < body.trim_ascii().len() { "…" } else { "" };
    format!("{}{more}", Safe(cut))
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;

    use super::*;

    fn key() -> ApiKey {
        ApiKey::check(&SecretString::from("fsk_secret_value")).unwrap()
    }

    #[test]
    fn a_key_on_the_edge_of_the_cut_is_removed_whole() {
        let body = format!("{}fsk_secret_value tail", "x".repeat(KEPT - 4));
        let kept = keep(body.as_bytes(), &key());
        assert_eq!(kept.len(), KEPT);
        assert!(!String::from_utf8_lossy(&kept).contains("fsk_"));
    }

    #[test]
    fn what_is_shown_is_short_and_cannot_move_the_cursor() {
        let shown = show(format!("\u{1b}[2J\u{202e}\u{200b}\n{}", "é".repeat(500)).as_bytes());
        assert!(shown.starts_with(r"\u{1b}[2J\u{202e}\u{200b}\n"), "{shown}");
        assert!(shown.ends_with("é…"), "{shown}");
        assert_eq!(show(b" Bad Gateway "), "Bad Gateway");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut(&"é".repeat(201), 200), "é".repeat(200));
        assert_eq!(short("enough"), "enough");
        assert_eq!(short(&"x".repeat(9_000)).len(), MESSAGE_SHOWN);
    }

    #[test]
    fn json_is_told_by_its_first_character() {
        assert!(looks_like_json(b"\n {\"a\":1}"));
        for other in [&b"<html>"[..], b"", b"Bad Gateway", b"\xff"] {
            assert!(!looks_like_json(other));
        }
    }
}
