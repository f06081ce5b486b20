//! The part of a foreign body that an error keeps and shows.

use bytes::Bytes;
use formsvc_protocol::is_unsafe_in_terminals;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::api_key::ApiKey;

/// Bytes of a body an error keeps.
pub(crate) const KEPT: usize = 64 * 1024;
/// Characters of HTML or plain text that the text of an error shows.
const TEXT_SHOWN: usize = 200;
/// Characters of another body that the text of an error shows.
const OTHER_SHOWN: usize = 40;
/// Characters of a service's message that the text of an error shows.
const MESSAGE_SHOWN: usize = 500;

/// Returns the first 64 KiB of a body, without the API key.
pub(crate) fn keep(body: &[u8], key: &ApiKey) -> Bytes {
    // The cut comes after the redaction, or half a key could survive at its edge.
    let mut clean = key.redact_bytes(readable(body, key));
    clean.truncate(KEPT);
    Bytes::from(clean)
}

/// Returns the beginning of a body that [`keep`] reads.
pub(crate) fn readable<'b>(body: &'b [u8], key: &ApiKey) -> &'b [u8] {
    &body[..body.len().min(KEPT + key.len())]
}

/// Returns the beginning of a body that the text of an error shows, sanitized: of a page or plain
/// text up to 200 characters, of another body up to 40.
///
/// Text is cut before its first bracket, because JSON may contain answers of submitters. `None` if
/// nothing is left.
pub(crate) fn body_start(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let body = body.trim_ascii();
    let is_markup = body.starts_with(b"<");
    let is_text = is_markup || is_declared_text(headers);
    let text = String::from_utf8_lossy(&body[..body.len().min(TEXT_SHOWN * 4)]);
    let whole = if is_markup { &*text } else { text.split(['{', '[']).next().unwrap_or_default() };
    let shown = cut(whole.trim_end(), if is_text { TEXT_SHOWN } else { OTHER_SHOWN });
    let more = if shown.len() < body.len() { "…" } else { "" };
    (!shown.is_empty()).then(|| format!("{}{more}", EscapedText(shown)))
}

fn is_declared_text(headers: &HeaderMap) -> bool {
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = declared.split(';').next().unwrap_or("").trim();
    ["text/html", "text/plain"].iter().any(|text| kind.eq_ignore_ascii_case(text))
}

/// True if the first character is that of a JSON object or array.
pub(crate) fn looks_like_json(body: &[u8]) -> bool {
    body.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|b| matches!(b, b'{' | b'['))
}

/// Foreign text that is safe to print: control characters, invisible characters and those that
/// change the direction of writing are escaped.
pub(crate) struct EscapedText<'a>(pub(crate) &'a str);

impl std::fmt::Display for EscapedText<'_> {
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

/// Returns the first 500 characters of a message.
pub(crate) fn short(message: &str) -> &str {
    cut(message, MESSAGE_SHOWN)
}

/// Returns the first `characters` characters.
pub(crate) fn cut(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> ApiKey {
        ApiKey::try_from("fsk_secret_value").unwrap()
    }

    #[test]
    fn key_at_the_cut_is_removed_completely() {
        let body = format!("{}fsk_secret_value tail", "x".repeat(KEPT - 4));
        let kept = keep(body.as_bytes(), &key());
        assert_eq!(kept.len(), KEPT);
        assert!(!String::from_utf8_lossy(&kept).contains("fsk_"));
    }

    fn declared(kind: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
        headers
    }

    #[test]
    fn start_of_page_is_short_and_escaped() {
        let body = format!("<\u{1b}[2J\u{202e}\u{200b}\n{}", "é".repeat(500));
        let shown = body_start(&HeaderMap::new(), body.as_bytes()).unwrap();
        assert!(shown.starts_with(r"<\u{1b}[2J\u{202e}\u{200b}\n"), "{shown}");
        assert!(shown.ends_with("é…"), "{shown}");
        let plain = body_start(&declared("text/plain"), b" Bad Gateway ");
        assert_eq!(plain.as_deref(), Some("Bad Gateway"));
    }

    #[test]
    fn start_of_page_in_another_character_set_is_readable() {
        let latin = body_start(&HeaderMap::new(), b"<p>caf\xe9</p>").unwrap();
        assert_eq!(latin, "<p>caf\u{fffd}</p>");
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(cut(&"é".repeat(201), 200), "é".repeat(200));
        assert_eq!(short("enough"), "enough");
        assert_eq!(short(&"x".repeat(9_000)).len(), MESSAGE_SHOWN);
    }

    #[test]
    fn start_of_json_is_not_shown_and_undeclared_text_is_short() {
        for (kind, length) in [
            ("text/plain; charset=utf-8", TEXT_SHOWN),
            ("TEXT/HTML", TEXT_SHOWN),
            ("application/json", OTHER_SHOWN),
            ("text/plainer", OTHER_SHOWN),
            ("", OTHER_SHOWN),
        ] {
            for json in [&b"{\"E-mail\""[..], b" [", b"", b" \n"] {
                assert_eq!(body_start(&declared(kind), json), None, "{kind} {json:?}");
            }
            let guarded = body_start(&declared(kind), b"while(1);{\"E-mail\"");
            assert_eq!(guarded.as_deref(), Some("while(1);…"), "{kind}");
            let long = body_start(&declared(kind), "word ".repeat(100).as_bytes());
            assert!((length - 1..=length + 1).contains(&long.unwrap().chars().count()), "{kind}");
        }
    }

    #[test]
    fn json_is_recognised_by_its_first_character() {
        assert!(looks_like_json(b"\n {\"a\":1}"));
        for other in [&b"<html>"[..], b"", b"Bad Gateway", b"\xff"] {
            assert!(!looks_like_json(other));
        }
    }
}
