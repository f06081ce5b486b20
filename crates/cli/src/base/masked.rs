//! API keys and signing secrets in messages: shortened, or left out.

use std::borrow::Cow;

use formsvc_protocol::signature::SECRET_PREFIX;
use regex_bites::Regex;
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

/// Replaces each API key and signing secret in a message by its prefix, also one in lower case, as in a host name.
/// A masked key stays as it is: it has fewer characters after its prefix.
pub(crate) fn hide_secrets(text: &str) -> Cow<'_, str> {
    let secret = format!("(?i)({KEY_PREFIX}|{SECRET_PREFIX})[a-z0-9_+=-]{{5,}}");
    Regex::new(&secret).expect("it is a regular expression").replace_all(text, "${1}…")
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
    fn secrets_are_hidden_wherever_they_are() {
        for (text, shown) in [
            ("work", "work"),
            ("begins with `whsec_`, as `fsk_abcd…`", "begins with `whsec_`, as `fsk_abcd…`"),
            ("`fsk_abcdef` and whsec_Abc1+/=, é", "`fsk_…` and whsec_…/=, é"),
            ("no host http://whsec_1a2b3c.test/x", "no host http://whsec_….test/x"),
            ("cannot read `/tmp/WHSEC_ABCDEF`", "cannot read `/tmp/WHSEC_…`"),
        ] {
            assert_eq!(hide_secrets(text), shown);
        }
    }
}
