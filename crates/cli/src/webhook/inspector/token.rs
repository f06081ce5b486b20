//! What lets a browser see the page: whoever has the address has it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

/// Random bytes of a token: 192 bits.
const BYTES: usize = 24;

/// 192 random bits, as part of a path.
#[derive(Clone)]
pub(super) struct PageToken(SecretString);

impl PageToken {
    /// A new one of the system's randomness.
    pub(super) fn generate() -> Result<Self, getrandom::Error> {
        let mut bytes = Zeroizing::new([0; BYTES]);
        getrandom::fill(&mut *bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(*bytes).into()))
    }

    /// The text; for the address of the page only.
    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// What follows the token in a path, if the path has it: `/TOKEN/` is nothing. Takes the same time
    /// wherever a wrong token differs.
    pub(super) fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        let (given, rest) = path.strip_prefix('/')?.split_once('/')?;
        bool::from(given.as_bytes().ct_eq(self.expose().as_bytes())).then_some(rest)
    }
}

impl fmt::Debug for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageToken(redacted)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_192_bits_of_a_path_and_shown_nowhere() {
        let token = PageToken::generate().unwrap();
        let text = token.expose();
        assert_eq!(URL_SAFE_NO_PAD.decode(text).unwrap().len(), BYTES);
        assert!(!format!("{token:?}").contains(text));
        assert_ne!(PageToken::generate().unwrap().expose(), text);
    }

    #[test]
    fn only_a_path_that_begins_with_the_whole_token_has_it() {
        let token = PageToken::generate().unwrap();
        let text = token.expose();
        assert_eq!(token.strip(&format!("/{text}/")), Some(""));
        assert_eq!(token.strip(&format!("/{text}/api/list")), Some("api/list"));
        let other = PageToken::generate().unwrap();
        for path in [
            String::new(),
            "/".to_owned(),
            "//".to_owned(),
            format!("/{text}"),
            format!("{text}/"),
            format!("//{text}/"),
            format!("/{text}x/"),
            format!("/{}/", &text[1..]),
            format!("/{}/", text.to_uppercase()),
            format!("/{}/", other.expose()),
        ] {
            assert_eq!(token.strip(&path), None, "{path}");
        }
    }
}
