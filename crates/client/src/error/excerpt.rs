//! How much of a foreign body an error keeps and shows.

use bytes::Bytes;
use formsvc_protocol::is_unsafe_in_terminals;
use http::HeaderMap;
use http::header::CONTENT_TYPE;

use crate::api_key::ApiKey;

/// Bytes of a body an error keeps.
pub(crate) const KEPT: usize = 64 * 1024;
/// Characters of a body an error's text shows.
const SHOWN: usize = 200;
/// Characters of a service's message an error's text shows.
const MESSAGE_SHOWN: usize = 500;

/// The first 64 KiB of a body without the API key, should the service have echoed it.
pub(crate) fn keep(body: &[u8], key: &ApiKey) -> Bytes {
    // The cut comes after the redaction, or half a key could survive at its edge.
    let mut clean = key.redact_bytes(head(body, key));
    clean.truncate(KEPT);
    Bytes::from(clean)
}

/// As much of a body as is looked at to keep some of it.
pub(crate) fn head<'b>(body: &'b [u8], key: &ApiKey) -> &'b [u8] {
    &body[..body.len().min(KEPT + key.len())]
}

/// Whether an error's text may show the beginning of a body: when it is markup, or is declared to
/// be text and no JSON stands behind what some services put before it. Anything else may be answers
/// of submitters.
pub(crate) fn may_show(headers: &HeaderMap, body: &[u8]) -> bool {
    let body = body.trim_ascii_start();
    if body.first() == Some(&b'<') {
        return true;
    }
    let declared = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = declared.split(';').next().unwrap_or("").trim();
    let is_text = ["text/html", "text/plain"].iter().any(|text| kind.eq_ignore_ascii_case(text));
    is_text && !looks_like_json(without_guard(body))
}

/// What follows a byte order mark, and the prefix that keeps scripts from reading JSON.
fn without_guard(body: &[u8]) -> &[u8] {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start();
    let body = body.strip_prefix(b")]}'").unwrap_or(body);
    body.strip_prefix(b",").unwrap_or(body)
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

/// The first so many characters.
pub(crate) fn cut(text: &str, characters: usize) -> &str {
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
    fn only_markup_and_declared_text_are_shown() {
        let declared = |kind: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
            headers
        };
        assert!(may_show(&HeaderMap::new(), b" \n<html>"));
        assert!(may_show(&declared("application/json"), b"<html>"));
        for kind in ["text/plain", "TEXT/HTML; charset=utf-8", "text/plain;charset=x"] {
            assert!(may_show(&declared(kind), b"Bad Gateway"), "{kind}");
            for json in [
                &b"{"[..],
                b" [",
                b"\xef\xbb\xbf{",
                b")]}',\n{",
                b")]}'\n[",
                b"\xef\xbb\xbf )]}',[",
            ] {
                assert!(!may_show(&declared(kind), json), "{kind} {json:?}");
            }
        }
        for kind in ["application/json", "text/csv", "text/plainer", ""] {
            assert!(!may_show(&declared(kind), b"Bad Gateway"), "{kind}");
        }
        assert!(!may_show(&HeaderMap::new(), b")]}',{\"E-mail\""));
    }

    #[test]
    fn json_is_told_by_its_first_character() {
        assert!(looks_like_json(b"\n {\"a\":1}"));
        for other in [&b"<html>"[..], b"", b"Bad Gateway", b"\xff"] {
            assert!(!looks_like_json(other));
        }
    }
}
