//! What a browser holds: the token of a session, of a link, or of a visit before anybody signed in.

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::random::{self, NoRandomness};
use crate::store::TokenHash;

/// Digits of base 62; 43 of them hold 256 bits.
const DIGITS: usize = 43;
/// What sets the tokens of forms apart from anything else made of the same key.
const FORMS: &[u8] = b"formsvc dashboard forms v1";

/// 256 random bits, as text. Only the hash of it is ever given to a store.
#[derive(Clone, Debug)]
pub(super) struct Token(SecretString);

impl Token {
    /// A new one from the operating system's randomness.
    pub(super) fn generate() -> Result<Self, NoRandomness> {
        random::base62("", DIGITS).map(Self)
    }

    /// One that somebody sent; `None` for what was never made here.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        fits.then(|| Self(SecretString::from(text.to_owned())))
    }

    /// The hash a store knows it by.
    pub(super) fn hash(&self) -> TokenHash {
        TokenHash::of(self.expose())
    }

    /// The text; for the browser it belongs to only.
    pub(super) fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// What every form on the pages of this browser carries. A page of another site cannot know it, and
    /// it tells nothing of the token.
    pub(super) fn of_forms(&self) -> String {
        let mac = Hmac::<Sha256>::new_from_slice(self.expose().as_bytes());
        let mac = mac.expect("a key of any length is taken").chain_update(FORMS);
        hex::encode(mac.finalize().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_43_digits_and_shown_nowhere() {
        let token = Token::generate().unwrap();
        let text = token.expose().to_owned();
        assert_eq!(Token::parse(&text).unwrap().hash(), token.hash());
        assert!(!format!("{token:?}").contains(&text));
        assert_ne!(Token::generate().unwrap().hash(), token.hash());
        for bad in ["", "a", &text[1..], &format!("{text}a"), &format!("{}/", &text[1..])] {
            assert!(Token::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn forms_of_two_browsers_carry_different_texts() {
        let [one, other] = [(); 2].map(|()| Token::generate().unwrap());
        assert_eq!(one.of_forms(), one.of_forms());
        assert_ne!(one.of_forms(), other.of_forms());
        assert_ne!(one.of_forms(), hex::encode(one.hash().0));
    }
}
