//! Whether an answer gives away what only the owner of the secret can know.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::send::Answer;

/// What an answer gives away: the right MAC of what was sent, or the secret.
pub(super) fn leak(answer: &Answer, hidden: Option<&str>, secret: &str) -> Option<&'static str> {
    let values = answer.headers.values().map(http::HeaderValue::as_bytes);
    let told: Vec<&[u8]> = values.chain([&answer.body[..]]).collect();
    let holds = |text: &str| told.iter().any(|part| contains(part, text.as_bytes()));
    if holds(secret) {
        return Some("the signing secret");
    }
    let hidden = hidden?;
    let bytes = hex::decode(hidden).unwrap_or_default();
    let spelled = [
        hidden.to_owned(),
        hidden.to_ascii_uppercase(),
        STANDARD.encode(&bytes).trim_end_matches('=').to_owned(),
        URL_SAFE_NO_PAD.encode(&bytes),
    ];
    spelled.iter().any(|text| holds(text)).then_some("the right signature")
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
    fn the_right_mac_and_the_secret_are_found_however_they_are_spelled() {
        let mac = "ab".repeat(32);
        let base64 = STANDARD.encode([0xab; 32]);
        for told in [format!("expected {mac}, got"), mac.to_uppercase(), base64] {
            for answer in [answer(&told, ""), answer("", told.clone())] {
                assert_eq!(leak(&answer, Some(&mac), "whsec_1"), Some("the right signature"));
                assert_eq!(leak(&answer, None, "whsec_1"), None);
            }
        }
        let told = answer("", "key whsec_1");
        assert_eq!(leak(&told, None, "whsec_1"), Some("the signing secret"));
        assert_eq!(leak(&answer("no", "invalid"), Some(&mac), "whsec_1"), None);
    }
}
