//! Finds secrets in answers.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::send::Answer;

/// Returns the name of the secret that an answer contains: the signing secret, or the valid MAC of the
/// request in hex or base64.
pub(super) fn find_leak(
    answer: &Answer,
    hidden_mac: Option<&str>,
    secret: &str,
) -> Option<&'static str> {
    let values = answer.headers.values().map(http::HeaderValue::as_bytes);
    let texts: Vec<&[u8]> = values.chain([&answer.body[..]]).collect();
    let has = |part: &str| texts.iter().any(|text| contains(text, part.as_bytes()));
    if has(secret) {
        return Some("the signing secret");
    }
    let mac = hidden_mac?;
    let bytes = hex::decode(mac).unwrap_or_default();
    let spellings = [
        mac.to_owned(),
        mac.to_ascii_uppercase(),
        STANDARD.encode(&bytes).trim_end_matches('=').to_owned(),
        URL_SAFE_NO_PAD.encode(&bytes),
    ];
    spellings.iter().any(|mac| has(mac)).then_some("the valid signature")
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && text.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode};

    use super::*;

    fn answer(header: &str, body: impl Into<Bytes>) -> Answer {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("x-debug"),
            HeaderValue::from_str(header).unwrap(),
        )]);
        let status = StatusCode::UNAUTHORIZED;
        Answer { status, headers, body: body.into(), truncated: false, took: Duration::ZERO }
    }

    #[test]
    fn leak_of_secret_or_mac_is_found_in_any_spelling() {
        let mac = "ab".repeat(32);
        let base64 = STANDARD.encode([0xab; 32]);
        for text in [format!("expected {mac}, got"), mac.to_uppercase(), base64] {
            for answer in [answer(&text, ""), answer("", text.clone())] {
                let leak = find_leak(&answer, Some(&mac), "whsec_1");
                assert_eq!(leak, Some("the valid signature"));
                assert_eq!(find_leak(&answer, None, "whsec_1"), None);
            }
        }
        let leak = find_leak(&answer("", "key whsec_1"), None, "whsec_1");
        assert_eq!(leak, Some("the signing secret"));
        assert_eq!(find_leak(&answer("no", "invalid"), Some(&mac), "whsec_1"), None);
    }
}
