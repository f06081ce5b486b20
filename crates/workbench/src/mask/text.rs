//! Text that anybody wrote: what in it lets somebody in, or can be replayed, is not shown.

use std::borrow::Cow;
use std::ops::Range;

use super::{DIGITS, MASK, scheme, url};

/// How a signature begins wherever it stands, in whatever case, and its hex digits.
const SIGNED: &str = "v1=";
const SIGNED_DIGITS: usize = 64;
/// How secrets and keys begin that are worth something wherever they stand.
const PREFIXES: [&str; 2] = [formsvc_protocol::signature::SECRET_PREFIX, "fsk_"];
/// What the names of those end with, in pages for debugging as well: `HTTP_COOKIE`.
const CREDENTIAL_NAMES: [&str; 2] = ["authorization", "cookie"];
/// Kinds of secrets that stand before them, and the shortest that is taken for one.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];
const SCHEME_SECRET_MIN: usize = 8;

/// The text without what is a secret, a key or a signature of this service, wherever it stands.
pub fn text(text: &str) -> Cow<'_, str> {
    let mut masked = Cow::Borrowed(text);
    for prefix in PREFIXES {
        if masked.contains(prefix) {
            masked = Cow::Owned(without(&masked, prefix));
        }
    }
    for hide in [without_credentials, unsigned, url::without_secrets] {
        if let Some(hidden) = hide(&masked) {
            masked = Cow::Owned(hidden);
        }
    }
    masked
}

/// A target's answer as it may be shown: one may say again what it was asked, its signature included.
pub fn answer(body: &[u8], reveal: bool) -> Cow<'_, [u8]> {
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

/// The text without what lets somebody in: values of such headers as pages for debugging print them, on
/// lines, as JSON or as a language writes its values; and what stands behind `Bearer`. None where there
/// is nothing of it.
fn without_credentials(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (mut out, mut done, mut told) = (String::new(), 0, 0);
    for at in 0..lower.len() {
        let begins = |word: &&str| lower.as_bytes()[at..].starts_with(word.as_bytes());
        if at < done {
            continue;
        }
        let secret = if let Some(name) = CREDENTIAL_NAMES.into_iter().find(begins) {
            value_after(text, at + name.len())
        } else if let Some(scheme) = SCHEMES.into_iter().find(begins) {
            scheme_secret(text, at + scheme.len())
        } else {
            None
        };
        if let Some(secret) = secret {
            // What is masked already is left so, and not looked at again for each name in it.
            if !text[secret.clone()].ends_with(MASK) {
                out.push_str(&text[told..secret.start]);
                out.push_str(&scheme(text[secret.clone()].as_bytes()));
                told = secret.end;
            }
            done = secret.end;
        }
    }
    (told > 0).then(|| out + &text[told..])
}

/// Where the value of a header is whose name ends there: `: a`, `": "a"`, `=> a`, `', 'a'`.
fn value_after(text: &str, name_end: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let skipped = |at: usize, set: &[u8]| {
        at + bytes[at..].iter().take_while(|byte| set.contains(byte)).count()
    };
    let closed = skipped(name_end, b"\\\"'])");
    let is_quoted = closed > name_end;
    let sign = skipped(closed, b" \t");
    let behind = match bytes[sign..] {
        [b'=', b'>', ..] => sign + 2,
        [b':' | b'=', ..] => sign + 1,
        [b',', ..] if is_quoted => sign + 1,
        _ => return None,
    };
    let blank: &[u8] = if is_quoted { b" \t\r\n[(\\\"'" } else { b" \t\"'" };
    let begin = skipped(behind, blank);
    let ends: &[u8] = match bytes[begin - 1] {
        b'"' => b"\"\r\n",
        b'\'' => b"'\r\n",
        _ => b"<\r\n",
    };
    let length = bytes[begin..].iter().take_while(|byte| !ends.contains(byte)).count();
    let value = text[begin..begin + length].trim_end().trim_end_matches('\\');
    (!value.is_empty()).then(|| begin..begin + value.len())
}

/// Where the secret behind a scheme is. A word of a sentence is none.
fn scheme_secret(text: &str, begin: usize) -> Option<Range<usize>> {
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(byte);
    let length = text.as_bytes()[begin..].iter().take_while(|byte| is_of_token(byte)).count();
    let secret = &text[begin..begin + length];
    let is_word = secret.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'.');
    (length >= SCHEME_SECRET_MIN && !is_word).then(|| begin..begin + length)
}

fn without(text: &str, prefix: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(prefix) {
        let (before, after) = rest.split_at(at + prefix.len());
        let is_key = |c: char| c.is_ascii_alphanumeric() || "_-+/=".contains(c);
        out.push_str(before);
        out.push(MASK);
        let after = after.trim_start_matches(is_key);
        // What is masked already is left so.
        rest = after.strip_prefix(MASK).unwrap_or(after);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_names_is_looked_at_once() {
        // Looking at the rest of the line for each name takes hours.
        let names = format!("{}…", "cookie=".repeat(1 << 20));
        assert_eq!(answer(names.as_bytes(), false), names.as_bytes());
        let told = answer(b"cookie=\xe2\x80\xa6\nauthorization: secret", false).into_owned();
        assert_eq!(told, "cookie=…\nauthorization: …".as_bytes());
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
        let short = &mac[1..];
        for same in [mac.clone(), format!("v1={short}"), format!("v1 ={mac}"), "v1=".to_owned()] {
            assert!(matches!(text(&same), Cow::Borrowed(_)), "{same}");
        }
        assert_eq!(&*answer(b"Zo\xeb v1=", false), b"Zo\xeb v1=");
        let binary = [b"\xff v1=", mac.as_bytes(), b"!"].concat();
        assert_eq!(&*answer(&binary, false), "\u{fffd} v1=0123…!".as_bytes());
    }

    #[test]
    fn headers_that_let_somebody_in_are_not_shown_however_they_are_printed() {
        for (said, expected) in [
            (
                "X: 1\r\nAuthorization: Bearer abc\r\nY: 2",
                "X: 1\r\nAuthorization: Bearer …\r\nY: 2",
            ),
            ("cookie: a=b; c=d\nHost: x", "cookie: …\nHost: x"),
            ("Set-Cookie: s=1; Path=/", "Set-Cookie: …"),
            (r#"{"Cookie":"a='b'","x":1}"#, r#"{"Cookie":"…","x":1}"#),
            (r#"{"cookie":["a=b"],"x":1}"#, r#"{"cookie":["…"],"x":1}"#),
            (r#""{\"Cookie\":\"a=b\",\"x\":1}""#, r#""{\"Cookie\":\"…\",\"x\":1}""#),
            ("{'authorization': 'Basic dTpw', 'x': 1}", "{'authorization': 'Basic …', 'x': 1}"),
            ("[HTTP_COOKIE] => a=b\n[X] => 1", "[HTTP_COOKIE] => …\n[X] => 1"),
            ("('Authorization', 'abc'), ('X', '1')", "('Authorization', '…'), ('X', '1')"),
            ("'Authorization',\n  'Bearer abc',\n  'X'", "'Authorization',\n  'Bearer …',\n  'X'"),
            (
                "<th>Authorization</th><td>Bearer ABCD1234</td>",
                "<th>Authorization</th><td>Bearer …</td>",
            ),
            ("bearer eyJh.bGci-_ é", "bearer … é"),
        ] {
            assert_eq!(text(said), expected, "{said}");
            assert_eq!(text(expected), expected, "again");
        }
        for same in [
            "cookies are not needed",
            "authorization",
            "Authorization:",
            "basic authentication is required",
            "Bearer abc",
            "é cookie",
        ] {
            assert!(matches!(text(same), Cow::Borrowed(_)), "{same}");
        }
    }
}
