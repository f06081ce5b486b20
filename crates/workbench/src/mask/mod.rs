//! What is not shown unless somebody asks for it: signatures, which can be replayed, and secrets.

mod names;
mod text;
mod url;

use std::borrow::Cow;

use formsvc_contract::send::SIGNATURE;
use http::{HeaderMap, HeaderName, HeaderValue, header};

pub use text::{answer, text};
pub use url::{target, url};

/// Stands for what is not shown.
const MASK: char = '…';
/// Hex digits of a signature that are shown: enough to tell two apart.
const DIGITS: usize = 4;
/// Headers whose values let whoever has them in.
const SECRET_HEADERS: [HeaderName; 4] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE, header::SET_COOKIE];

/// The headers as they may be shown.
pub fn headers(headers: &HeaderMap, reveal: bool) -> HeaderMap {
    if reveal {
        return headers.clone();
    }
    headers.iter().map(|(name, shown)| (name.clone(), value(name, shown))).collect::<Pairs>().0
}

/// Headers in their order, repeated names included.
struct Pairs(HeaderMap);

impl FromIterator<(HeaderName, HeaderValue)> for Pairs {
    fn from_iter<T: IntoIterator<Item = (HeaderName, HeaderValue)>>(pairs: T) -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, value);
        }
        Self(headers)
    }
}

/// The value of a header as it may be shown; the value itself where nothing of it is secret.
pub fn value(name: &HeaderName, value: &HeaderValue) -> HeaderValue {
    let masked = if *name == SIGNATURE {
        signature(value.as_bytes())
    } else if SECRET_HEADERS.contains(name) {
        scheme(value.as_bytes())
    } else if names::is_secret_header(name.as_str()) {
        MASK.to_string()
    } else {
        match text(&String::from_utf8_lossy(value.as_bytes())) {
            Cow::Borrowed(_) => return value.clone(),
            Cow::Owned(masked) => masked,
        }
    };
    // What is left of a value has no control characters.
    HeaderValue::from_bytes(masked.as_bytes()).unwrap_or_else(|_| HeaderValue::from_static("…"))
}

/// Whether a value is shown otherwise than it is.
pub fn hides(name: &HeaderName, shown: &HeaderValue) -> bool {
    value(name, shown) != *shown
}

/// Whether a request with these headers, to this target or URL, is shown otherwise than it is.
pub fn hides_of(headers: &HeaderMap, target: &str) -> bool {
    headers.iter().any(|(name, value)| hides(name, value)) || self::target(target, false) != target
}

/// Whether a value is one that was shown, and not itself.
pub fn is_masked(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|text| text.contains(MASK))
}

/// A signature header: its time, and of each signature the beginning. Of what is none, nothing.
fn signature(value: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(value) else { return MASK.to_string() };
    let part = |part: &str| match part.split_once('=') {
        Some(("t", time)) if time.len() <= 20 && time.bytes().all(|b| b.is_ascii_digit()) => {
            part.to_owned()
        }
        Some((key, digits)) if key.len() <= 4 && key.bytes().all(|b| b.is_ascii_alphanumeric()) => {
            let is_long = digits.len() >= 4 * DIGITS;
            let shown = digits.chars().take_while(char::is_ascii_hexdigit);
            let shown: String = shown.take(if is_long { DIGITS } else { 0 }).collect();
            format!("{key}={shown}{MASK}")
        }
        _ => MASK.to_string(),
    };
    text.split(',').map(part).collect::<Vec<_>>().join(",")
}

/// `Bearer …`: which kind of secret it is.
fn scheme(value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    match text.split_once(' ') {
        Some((scheme, _)) if !scheme.contains('=') && scheme.len() <= 16 => {
            format!("{scheme} {MASK}")
        }
        _ => MASK.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIGNED: &str = "t=1,v1=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn shown(name: &'static str, text: &str) -> String {
        let value = value(&HeaderName::from_static(name), &HeaderValue::from_str(text).unwrap());
        String::from_utf8(value.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_signature_shows_when_and_which_but_not_itself() {
        let digits = "0123456789abcdef".repeat(4);
        for (text, expected) in [
            (format!("t=1700000000,v1={digits}"), "t=1700000000,v1=0123…"),
            (format!("t=1,v1={digits},v1={digits}"), "t=1,v1=0123…,v1=0123…"),
            (format!("{digits},t=x{digits}"), "…,t=…"),
            (format!("v1={digits}x"), "v1=0123…"),
            (digits.clone(), "…"),
            ("v1=0123".to_owned(), "v1=…"),
            (String::new(), "…"),
        ] {
            assert_eq!(shown("x-service-signature", &text), expected, "{text}");
        }
    }

    #[test]
    fn other_secrets_are_not_shown_and_the_rest_is_as_it_is() {
        for (name, text, expected) in [
            ("authorization", "Bearer abc", "Bearer …"),
            ("authorization", "abc", "…"),
            ("cookie", "session=1; a=b", "…"),
            ("x-api-key", "abc", "…"),
            ("x-gitlab-token", "abc", "…"),
            ("x-session", "abc", "…"),
            ("referer", "http://u:p@h/a?token=abc&b=1", "http://…@h/a?token=…&b=1"),
            ("location", "/done?b=1&code=abc", "/done?b=1&code=…"),
            ("x-copy", SIGNED, "t=1,v1=0123…"),
            ("www-authenticate", "Basic realm=\"a\"", "Basic realm=\"a\""),
            ("user-agent", "a whsec_AbC+/= b fsk_12, c", "a whsec_… b fsk_…, c"),
            ("user-agent", "service-webhooks/1.0", "service-webhooks/1.0"),
        ] {
            assert_eq!(shown(name, text), expected, "{name}: {text}");
        }
        let latin = HeaderValue::from_bytes(b"Zo\xeb").unwrap();
        assert_eq!(value(&header::USER_AGENT, &latin), latin);
    }
}
