//! API keys and signing secrets in messages: shortened, or left out.

use std::borrow::Cow;

use formsvc_protocol::signature::SECRET_PREFIX;
use secrecy::{ExposeSecret, SecretString};

/// Prefix of every API key.
pub(crate) const KEY_PREFIX: &str = "fsk_";

/// Maximum number of characters of a key that are printed. The dashboard shows a few more.
const SHOWN_MAX: usize = 8;
/// A key needs this many characters for each one that is printed, so that a short key is not revealed.
const SHOWN_SHARE: usize = 4;

/// Returns the first characters of a key, which identify it in the dashboard.
pub(crate) fn masked(key: &SecretString) -> String {
    let key = key.expose_secret();
    let shown = (key.chars().count() / SHOWN_SHARE).min(SHOWN_MAX);
    key.chars().take(shown).chain(['…']).collect()
}

/// Returns the prefix of the API key or signing secret that a text contains.
pub(crate) fn secret_prefix(text: &str) -> Option<&'static str> {
    [KEY_PREFIX, SECRET_PREFIX].into_iter().find(|prefix| text.contains(prefix))
}

/// Returns a user's text for a message. If it contains a key or secret, returns only the prefix of the secret.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    match secret_prefix(text) {
        Some(prefix) => Cow::Owned(format!("{prefix}…")),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masked_key_shows_at_most_a_quarter() {
        for (key, shown) in [
            ("fsk_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG", "fsk_abcd…"),
            ("fsk_abcdefgh", "fsk…"),
            ("fsk_1", "f…"),
            ("abc", "…"),
            ("ÄÖÜß", "Ä…"),
        ] {
            assert_eq!(masked(&key.into()), shown);
        }
    }

    #[test]
    fn text_with_a_secret_is_not_repeated() {
        assert_eq!(without_secrets("work"), "work");
        assert_eq!(without_secrets("fsk_abc"), "fsk_…");
        assert_eq!(without_secrets("'whsec_abc"), "whsec_…");
    }
}
