//! What a page of ours may do in a browser: nothing but show itself and send its form.

use std::sync::LazyLock;

use http::HeaderValue;
use sha2::{Digest, Sha256};

/// The style of every page; it stands in the page, so that nothing else is fetched.
pub(super) const STYLE: &str = include_str!("../../templates/public/style.css");

/// `Content-Security-Policy`: no scripts, no frames, no fetches, and this one style, by its digest.
pub(super) static CONTENT_SECURITY_POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let digest = base64(&Sha256::digest(STYLE.as_bytes()));
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    HeaderValue::try_from(policy).expect("a policy is visible ASCII")
});

/// Base 64 with padding (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4_usize {
            let index = (bits >> (18 - 6 * digit)) & 63;
            let shown = digit <= chunk.len();
            let letter = ALPHABET[usize::try_from(index).unwrap_or_default()];
            text.push(if shown { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contrast::assert_stands_out;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
        assert_eq!(base64(&[0xfb, 0xff]), "+/8=");
    }

    #[test]
    fn text_and_borders_stand_out_in_either_scheme() {
        let pairs = [
            ("text", "sheet", 7.0),
            ("quiet", "sheet", 4.5),
            ("wrong", "sheet", 4.5),
            ("wrong", "wrong-sheet", 4.5),
            ("text", "wrong-sheet", 4.5),
            ("on-accent", "accent", 4.5),
            ("accent", "sheet", 3.0),
            ("line", "sheet", 3.0),
        ];
        assert_stands_out(STYLE, &pairs);
    }

    #[test]
    fn the_style_cannot_end_its_element() {
        assert!(!STYLE.contains('<'));
    }
}
