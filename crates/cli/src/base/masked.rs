//! A key as it may be shown: enough to tell one's keys apart, and to find it in the dashboard.

use secrecy::{ExposeSecret, SecretString};

/// Most characters that are shown from the beginning; the dashboard shows a few more.
const SHOWN_MAX: usize = 8;
/// The share of a key that is shown at most: what is short gives away little.
const SHOWN_SHARE: usize = 4;

/// The beginning of a key, and nothing of its length.
pub(crate) fn masked(key: &SecretString) -> String {
    let key = key.expose_secret();
    let shown = (key.chars().count() / SHOWN_SHARE).min(SHOWN_MAX);
    key.chars().take(shown).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_its_beginning_and_a_short_one_hardly_that() {
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
}
