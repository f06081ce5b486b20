//! Finds secrets in text, in one pass.

use std::borrow::Cow;
use std::ops::Range;

use super::names::is_secret_query;
use super::{MASK, SIGNATURE_DIGITS, credentials};

/// Prefixes of this service's signing secrets and API keys.
const KEY_PREFIXES: [&str; 2] = [formsvc_protocol::signature::SECRET_PREFIX, "fsk_"];
/// Prefix of a signature, without regard to case.
const SIGNATURE_PREFIX: &str = "v1=";
/// Number of hex digits of a signature.
const SIGNATURE_LEN: usize = 64;
/// Ends of the names of headers with credentials, without regard to case: `Set-Cookie`, `HTTP_COOKIE`.
const CREDENTIAL_NAMES: [&str; 2] = ["authorization", "cookie"];
/// Schemes before a token, without regard to case.
const SCHEMES: [&str; 2] = ["bearer ", "basic "];
/// Shortest token, in bytes.
const MIN_TOKEN_LEN: usize = 8;
/// Bytes that end the host of a URL.
const HOST_ENDS: &[u8] = b"/?# \t\r\n\"'<>\\";

/// The kind of a text, which decides where a query parameter ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Context {
    /// The text is a request target or a URL.
    RequestTarget,
    /// The text may contain URLs.
    Text,
}

/// A secret, and the text that replaces it.
struct Secret {
    range: Range<usize>,
    mask: String,
}

/// Replaces the secrets in a text. Masking a masked text does not change it.
pub(super) fn mask(text: &str, context: Context) -> Cow<'_, str> {
    let scanner = Scanner { text, context };
    let (mut masked, mut copied, mut at) = (String::new(), 0, 0);
    while at < text.len() {
        // The methods of `Scanner` return ranges that begin and end next to ASCII bytes, so slicing does not panic.
        let Some(Secret { range, mask }) = scanner.secret_from(at) else {
            at += 1;
            continue;
        };
        masked.push_str(&text[copied..range.start]);
        masked.push_str(&mask);
        copied = range.end;
        at = range.end.max(at + 1);
    }
    masked.push_str(&text[copied..]);
    if masked == text { Cow::Borrowed(text) } else { Cow::Owned(masked) }
}

#[derive(Clone, Copy)]
struct Scanner<'a> {
    text: &'a str,
    context: Context,
}

impl Scanner<'_> {
    /// Returns the secret that follows the name, prefix or separator at `at`. The whole scan takes linear time: this
    /// method takes constant time, or time proportional to a part of the text in which no other secret can begin.
    fn secret_from(self, at: usize) -> Option<Secret> {
        let range = match self.bytes()[at] {
            b'?' | b'&' | b';' | b'#' => self.parameter_value(at + 1),
            b':' => self.user_info(at + 1),
            b'v' | b'V' => self.signature(at),
            b'a' | b'A' | b'c' | b'C' => {
                let name = CREDENTIAL_NAMES.iter().find(|name| self.has_word(at, name))?;
                let range = self.header_value(at + name.len())?;
                let mask = credentials(&self.text[range.clone()]);
                return Some(Secret { range, mask });
            }
            b'b' | b'B' => {
                let scheme = SCHEMES.iter().find(|scheme| self.has_word(at, scheme))?;
                self.token(at + scheme.len())
            }
            _ => self.key(at),
        }?;
        Some(Secret { range, mask: MASK.to_string() })
    }

    /// Finds the part of a signing secret or API key after its prefix.
    fn key(self, at: usize) -> Option<Range<usize>> {
        let has_prefix = |prefix: &&&str| self.bytes()[at..].starts_with(prefix.as_bytes());
        let start = at + KEY_PREFIXES.iter().find(has_prefix)?.len();
        let is_key_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+/=".contains(&byte);
        let end = self.end_of(start, is_key_byte);
        let mask_len = if self.text[end..].starts_with(MASK) { MASK.len_utf8() } else { 0 };
        Some(start..end + mask_len)
    }

    fn signature(self, at: usize) -> Option<Range<usize>> {
        let start = self.has_word(at, SIGNATURE_PREFIX).then(|| at + SIGNATURE_PREFIX.len())?;
        let end = self.end_of(start, |byte| byte.is_ascii_hexdigit());
        (end - start >= SIGNATURE_LEN).then(|| start + SIGNATURE_DIGITS..end)
    }

    /// Finds the value of a header after its name: `: a`, `": "a"`, `=> a`, `', 'a'`.
    fn header_value(self, name_end: usize) -> Option<Range<usize>> {
        let name_close = self.end_of_any(name_end, b"\\\"'])");
        let is_quoted = name_close > name_end;
        let sign = self.end_of_any(name_close, b" \t");
        let sign_end = match self.bytes()[sign..] {
            [b'=', b'>', ..] => sign + 2,
            [b':' | b'=', ..] => sign + 1,
            [b',', ..] if is_quoted => sign + 1,
            _ => return None,
        };
        let blanks: &[u8] = if is_quoted { b" \t\r\n[(\\\"'" } else { b" \t\"'" };
        let start = self.end_of_any(sign_end, blanks);
        let ends: &[u8] = match self.bytes()[start - 1] {
            b'"' => b"\"\r\n",
            b'\'' => b"'\r\n",
            _ => b"<\r\n",
        };
        let end = self.end_before(start, ends);
        let value = self.text[start..end].trim_end().trim_end_matches('\\');
        (!value.is_empty()).then(|| start..start + value.len())
    }

    /// Finds the token after a scheme. A word in lower case is not a token.
    fn token(self, start: usize) -> Option<Range<usize>> {
        let is_token_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte);
        let end = self.end_of(start, is_token_byte);
        let is_word_byte = |byte: &u8| byte.is_ascii_lowercase() || *byte == b'.';
        let is_word = self.bytes()[start..end].iter().all(is_word_byte);
        (end - start >= MIN_TOKEN_LEN && !is_word).then_some(start..end)
    }

    /// Finds user name and password of a URL after its scheme.
    fn user_info(self, scheme_end: usize) -> Option<Range<usize>> {
        let start = self.has_word(scheme_end, "//").then_some(scheme_end + 2)?;
        let authority = &self.text[start..self.end_before(start, HOST_ENDS)];
        let len = authority.rfind('@').filter(|len| *len > 0)?;
        Some(start..start + len)
    }

    /// Finds the value of the query parameter with its name at `name_start`, if the name indicates a secret.
    fn parameter_value(self, name_start: usize) -> Option<Range<usize>> {
        let value_ends: &[u8] = match self.context {
            Context::RequestTarget => b"&#",
            Context::Text => b"&# \t\r\n\"'<>\\",
        };
        let is_name_byte = |byte: u8| !b"=?;".contains(&byte) && !value_ends.contains(&byte);
        let name_end = self.end_of(name_start, is_name_byte);
        if self.bytes().get(name_end) != Some(&b'=') {
            return None;
        }
        let name = &self.text[name_start..name_end];
        // If the name itself contains a key, the method `key` masks that key and the rest of the parameter.
        if !is_secret_query(name) || KEY_PREFIXES.iter().any(|prefix| name.contains(prefix)) {
            return None;
        }
        let (start, end) = (name_end + 1, self.end_before(name_end + 1, value_ends));
        (start < end).then_some(start..end)
    }

    fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Returns true if the text contains the word at `at`, without regard to case.
    fn has_word(self, at: usize, word: &str) -> bool {
        let found = self.bytes().get(at..at + word.len());
        found.is_some_and(|found| found.eq_ignore_ascii_case(word.as_bytes()))
    }

    /// Returns the position of the first byte from `from` on that does not meet the condition.
    fn end_of(self, from: usize, condition: impl Fn(u8) -> bool) -> usize {
        from + self.bytes()[from..].iter().take_while(|byte| condition(**byte)).count()
    }

    fn end_of_any(self, from: usize, set: &[u8]) -> usize {
        self.end_of(from, |byte| set.contains(&byte))
    }

    fn end_before(self, from: usize, set: &[u8]) -> usize {
        self.end_of(from, |byte| !set.contains(&byte))
    }
}
