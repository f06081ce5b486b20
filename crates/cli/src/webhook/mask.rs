//! What is not shown unless somebody asks for it: signatures, which can be replayed, and secrets.

use std::borrow::Cow;

use formsvc_contract::send::SIGNATURE;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use url::Url;

use super::target;

/// Stands for what is not shown.
const MASK: char = '…';
/// Hex digits of a signature that are shown: enough to tell two apart.
const DIGITS: usize = 4;
/// How a signature begins wherever it stands, in whatever case, and its hex digits.
const SIGNED: &str = "v1=";
const SIGNED_DIGITS: usize = 64;
/// How secrets and keys begin that are worth something wherever they stand.
const PREFIXES: [&str; 2] = [formsvc_protocol::signature::SECRET_PREFIX, "fsk_"];
/// Headers whose values let whoever has them in.
const SECRET_HEADERS: [HeaderName; 4] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE, header::SET_COOKIE];
/// Words in the names of others that do.
const SECRET_WORDS: [&str; 6] = ["token", "secret", "password", "api-key", "apikey", "signature"];

/// The headers as they may be shown.
pub(crate) fn headers(headers: &HeaderMap, reveal: bool) -> HeaderMap {
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
pub(crate) fn value(name: &HeaderName, value: &HeaderValue) -> HeaderValue {
    let masked = if *name == SIGNATURE {
        signature(value.as_bytes())
    } else if SECRET_HEADERS.contains(name) {
        scheme(value.as_bytes())
    } else if SECRET_WORDS.iter().any(|word| name.as_str().contains(word)) {
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
pub(crate) fn hides(name: &HeaderName, shown: &HeaderValue) -> bool {
    value(name, shown) != *shown
}

/// Whether a value is one that was shown, and not itself.
pub(crate) fn is_masked(value: &[u8]) -> bool {
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

/// The text without what is a secret, a key or a signature of this service, wherever it stands.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    let mut masked = Cow::Borrowed(text);
    for prefix in PREFIXES {
        if masked.contains(prefix) {
            masked = Cow::Owned(without(&masked, prefix));
        }
    }
    match unsigned(&masked) {
        Some(unsigned) => Cow::Owned(unsigned),
        None => masked,
    }
}

/// A target's answer as it may be shown: one may say again what it was asked, its signature included.
pub(crate) fn answer(body: &[u8], reveal: bool) -> Cow<'_, [u8]> {
    match text(&String::from_utf8_lossy(body)) {
        Cow::Owned(masked) if !reveal => Cow::Owned(masked.into_bytes()),
        _ => Cow::Borrowed(body),
    }
}

/// The text with the beginning only of each signature in it; none where there is no signature.
fn unsigned(text: &str) -> Option<String> {
    let digits = |at: usize| text[at..].bytes().take_while(u8::is_ascii_hexdigit).count();
    let begins = text.as_bytes().windows(SIGNED.len()).enumerate();
    let (mut out, mut done) = (String::new(), 0);
    for (at, _) in begins.filter(|(_, text)| text.eq_ignore_ascii_case(SIGNED.as_bytes())) {
        // What begins so is ASCII, and so a character ends behind it.
        let digits_at = at + SIGNED.len();
        let count = digits(digits_at);
        if count >= SIGNED_DIGITS {
            out.push_str(&text[done..digits_at + DIGITS]);
            out.push(MASK);
            done = digits_at + count;
        }
    }
    (done > 0).then(|| out + &text[done..])
}

fn without(text: &str, prefix: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(prefix) {
        let (before, after) = rest.split_at(at + prefix.len());
        let is_key = |c: char| c.is_ascii_alphanumeric() || "_-+/=".contains(c);
        out.push_str(before);
        out.push(MASK);
        rest = after.trim_start_matches(is_key);
    }
    out + rest
}

/// A URL as it may be shown: without a password, and without what a query may hold.
pub(crate) fn url(text: &str, reveal: bool) -> String {
    if reveal {
        return text.to_owned();
    }
    let shown = Url::parse(text).map_or_else(|_| text.to_owned(), |url| target::shown(&url));
    self::text(&shown).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("user-agent", "a whsec_AbC+/= b fsk_12, c", "a whsec_… b fsk_…, c"),
            ("user-agent", "service-webhooks/1.0", "service-webhooks/1.0"),
        ] {
            assert_eq!(shown(name, text), expected, "{name}: {text}");
        }
        let latin = HeaderValue::from_bytes(b"Zo\xeb").unwrap();
        assert_eq!(value(&header::USER_AGENT, &latin), latin);
    }

    #[test]
    fn signatures_show_their_beginning_only_wherever_they_stand() {
        let mac = "0123456789abcdef".repeat(4);
        let upper = mac.to_uppercase();
        for (said, expected) in [
            (format!("é X-Sig: t=1,v1={mac},v1={upper} é"), "é X-Sig: t=1,v1=0123…,v1=0123… é"),
            (format!("(V1={upper})"), "(V1=0123…)"),
            (format!("v1=v1={mac}"), "v1=v1=0123…"),
            (format!("v1={mac}0v1={mac}"), "v1=0123…v1=0123…"),
            (format!("whsec_a v1={mac}"), "whsec_… v1=0123…"),
        ] {
            assert_eq!(text(&said), expected, "{said}");
            assert_eq!(&*answer(said.as_bytes(), false), expected.as_bytes());
            assert_eq!(&*answer(said.as_bytes(), true), said.as_bytes());
        }
        assert_eq!(shown("x-copy", &format!("t=1,v1={mac}")), "t=1,v1=0123…");
        let short = &mac[1..];
        for same in [mac.clone(), format!("v1={short}"), format!("v1 ={mac}"), "v1=".to_owned()] {
            assert!(matches!(text(&same), Cow::Borrowed(_)), "{same}");
        }
        assert_eq!(&*answer(b"Zo\xeb v1=", false), b"Zo\xeb v1=");
        let binary = [b"\xff v1=", mac.as_bytes(), b"!"].concat();
        assert_eq!(&*answer(&binary, false), "\u{fffd} v1=0123…!".as_bytes());
    }

    #[test]
    fn urls_show_where_and_no_more() {
        for (text, expected) in [
            ("http://u:pw@localhost:1/hook?key=1#x", "http://localhost:1/hook?…#x"),
            ("http://localhost:1/whsec_abc", "http://localhost:1/whsec_…"),
            ("nonsense fsk_1", "nonsense fsk_…"),
        ] {
            assert_eq!(url(text, false), expected);
            assert_eq!(url(text, true), text);
        }
    }
}
