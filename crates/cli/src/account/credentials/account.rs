//! Whose key: a profile, and the origin the key was saved for.

use crate::error::CliError;
use crate::settings::base_url;
use crate::settings::{Store, check_profile};

/// Longest name of a profile.
/// In place of the origin of signing secrets, which are not sent to any service. No origin is like it.
const SIGNING_SECRETS: &str = "signing_secrets";
/// Between origin and profile in the name of a keyring's entry. No profile has it, so that no two
/// accounts share an entry.
const BETWEEN: char = '|';

/// Whose key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    profile: String,
    origin: String,
    kept: Option<Store>,
}

impl Account {
    /// The account of a profile at a service, whose address is taken as the client takes it: two
    /// addresses are one origin only if requests go to the same place.
    pub(crate) fn new(profile: &str, base_url: &str) -> Result<Self, CliError> {
        check_profile(profile)?;
        let origin = base_url::read(base_url)?.as_str().to_owned();
        Ok(Self { profile: profile.to_owned(), origin, kept: None })
    }

    /// The entry of a profile's signing secrets.
    pub(super) fn signing_secrets(profile: &str) -> Self {
        let (profile, origin) = (profile.to_owned(), SIGNING_SECRETS.to_owned());
        Self { profile, origin, kept: None }
    }

    /// An account that a store has a key of, with the origin as it is written there.
    /// `None` for signing secrets.
    pub(super) fn listed(origin: String, profile: String, store: Store) -> Option<Self> {
        check_profile(&profile).ok()?;
        if origin == SIGNING_SECRETS {
            return None;
        }
        Some(Self { profile, origin, kept: Some(store) })
    }

    /// The same account, with the store that the configuration says has its key.
    #[must_use]
    pub(crate) fn kept_in(mut self, store: Option<Store>) -> Self {
        self.kept = store;
        self
    }

    /// The name of the profile.
    pub(crate) fn profile(&self) -> &str {
        &self.profile
    }

    /// Scheme, host, port if it is not the usual one, and path if there is one.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The store that should have the key.
    pub(crate) fn kept(&self) -> Option<Store> {
        self.kept
    }

    /// The name of its entry in a keyring.
    pub(super) fn entry(&self) -> String {
        format!("{}{BETWEEN}{}", self.origin, self.profile)
    }

    /// The origin and the profile in the name of an entry.
    pub(super) fn of_entry(entry: &str) -> Option<(String, String)> {
        let (origin, profile) = entry.rsplit_once(BETWEEN)?;
        Some((origin.to_owned(), profile.to_owned()))
    }

    /// What people see in the list of their keyring.
    pub(super) fn label(&self) -> String {
        if self.origin == SIGNING_SECRETS {
            return format!("formsvc signing secrets of profile {}", self.profile);
        }
        format!("formsvc API key of profile {} at {}", self.profile, self.origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(base_url: &str) -> String {
        Account::new("p", base_url).unwrap().origin
    }

    #[test]
    fn spellings_of_one_place_are_one_origin() {
        for same in [
            "https://forms.example",
            "https://forms.example/",
            "https://forms.example//",
            "HTTPS://Forms.EXAMPLE:443/",
            "https://forms.example:0443",
            "https://forms.example/x/..",
            "https:/\\forms.example",
            "  https://forms.example\n",
        ] {
            assert_eq!(of(same), "https://forms.example", "{same}");
        }
        assert_eq!(of("http://[0:0::1]:80/a/"), "http://[::1]/a");
    }

    #[test]
    fn places_that_only_look_alike_are_different_origins() {
        let origins = [
            "https://forms.example",
            "https://localhost",
            "http://localhost",
            "http://forms.localhost",
            "https://forms.example:8443",
            "https://forms.example.",
            "https://forms.example.evil.example",
            "https://forms-example",
            // A Cyrillic letter.
            "https://f\u{43e}rms.example",
            "https://forms.example/a",
            "https://forms.example/A",
            "https://forms.example/a%2f",
        ]
        .map(of);
        for (at, one) in origins.iter().enumerate() {
            assert!(!origins[at + 1..].contains(one), "{one}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_being_repeated() {
        for bad in [
            "",
            "forms.example",
            "ftp://h",
            "http://h",
            "http://127.evil.example",
            "file:///etc",
            "https://u:p4ss@h",
            "https://p4ss@h",
            "https://h?p4ss",
            "https://h#p4ss",
            "https://",
        ] {
            let error = format!("{:?}", Account::new("p", bad).unwrap_err());
            assert!(!error.contains("p4ss"), "{error}");
        }
    }

    #[test]
    fn a_profile_has_a_plain_name() {
        for good in ["default", "work", "a", "A-b_c-9", "9", "_x"] {
            assert!(check_profile(good).is_ok(), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "-x", "a.b", "a b", "a|b", "a\nb", "a\0b", "ä", "a/b", "..", &long] {
            assert!(check_profile(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn no_two_accounts_share_an_entry() {
        let one = Account::new("c", "https://h/a%7Cb").unwrap();
        let other = Account::new("c", "https://h/a|b").unwrap();
        assert_ne!(one.entry(), other.entry());
        assert!(Account::new("b|c", "https://h/a").is_err());
    }
}
