//! Parses requests that users provide as text, and explains their signatures. [`crate::verdict`] verifies them.

mod dump;
mod explanation;

use formsvc_contract::send::SIGNATURE;
use http::{HeaderMap, HeaderName, HeaderValue};

pub use self::dump::{DumpError, parse_dump};
pub use self::explanation::{ExplainedCause, Explanation, explain, explain_request};

use crate::mask;

/// A header cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("the value of the header `{0}` contains a control character")]
pub struct HeaderError(HeaderName);

/// Parses `Name: value`, or the value of the signature header alone.
pub fn parse_signature_or_header(text: &[u8]) -> Result<(HeaderName, HeaderValue), HeaderError> {
    let colon = text.iter().position(|byte| *byte == b':').unwrap_or_default();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let name = Some(&text[..colon]).filter(|name| name.iter().all(is_name));
    let (name, value) = match name.and_then(|name| HeaderName::from_bytes(name).ok()) {
        Some(name) => (name, &text[colon + 1..]),
        None => (SIGNATURE, text),
    };
    match HeaderValue::from_bytes(value.trim_ascii()) {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(HeaderError(name)),
    }
}

/// Returns true if a signature was masked when it was written, so that it cannot be verified.
pub fn is_masked(headers: &HeaderMap) -> bool {
    headers.get_all(SIGNATURE).iter().any(|value| mask::is_masked(value.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_has_a_name_or_is_the_signature() {
        for (text, name, value) in [
            ("t=1,v1=ab", SIGNATURE, "t=1,v1=ab"),
            ("X-Service-Signature: t=1,v1=ab\n", SIGNATURE, "t=1,v1=ab"),
            ("Content-Length:12", http::header::CONTENT_LENGTH, "12"),
            ("t=2026-01-01T00:00:00Z,v1=ab", SIGNATURE, "t=2026-01-01T00:00:00Z,v1=ab"),
            (": t=1", SIGNATURE, ": t=1"),
        ] {
            let (found, found_value) = parse_signature_or_header(text.as_bytes()).unwrap();
            assert_eq!((found, found_value.as_bytes()), (name, value.as_bytes()), "{text}");
        }
        let error = parse_signature_or_header(b"x-a: 1\n2").unwrap_err().to_string();
        assert_eq!(error, "the value of the header `x-a` contains a control character");
    }

    #[test]
    fn masked_signature_is_recognized() {
        let headers = |value: &str| {
            HeaderMap::from_iter([(SIGNATURE, HeaderValue::from_bytes(value.as_bytes()).unwrap())])
        };
        assert!(is_masked(&headers("t=1,v1=0123…")) && !is_masked(&headers("t=1,v1=0123")));
    }
}
