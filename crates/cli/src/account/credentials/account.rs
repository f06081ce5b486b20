//! The account of a key: a profile, and the origin for which the key was stored.

use crate::error::CliError;
use crate::settings::base_url;
use crate::settings::{KeyStore, Profile, check_profile};

/// Replaces the origin in the account of signing secrets, which are sent to no service. No origin is equal to
/// it.
const SIGNING_SECRETS: &str = "signing_secrets";

/// The account of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    profile: String,
    origin: String,
    store: Option<KeyStore>,
}

impl Account {
    /// Creates the account of a profile at a service. Two base URLs have the same origin only if requests to
    /// them reach the same place.
    pub(crate) fn new(profile: &str, base_url: &str) -> Result<Self, CliError> {
        check_profile(profile)?;
        let origin = base_url::parse(base_url)?.as_str().to_owned();
        Ok(Self { profile: profile.to_owned(), origin, store: None })
    }

    /// Returns the account of a profile at its own service, with the store that the profile names. `None` for
    /// a profile without a service.
    pub(crate) fn of_profile(profile: &Profile) -> Result<Option<Self>, CliError> {
        let Some(base_url) = &profile.base_url else { return Ok(None) };
        Ok(Some(Self::new(&profile.name, base_url)?.stored_in(profile.store)))
    }

    /// Returns the account of a profile's signing secrets.
    pub(super) fn signing_secrets(profile: &str) -> Self {
        let (profile, origin) = (profile.to_owned(), SIGNING_SECRETS.to_owned());
        Self { profile, origin, store: None }
    }

    /// Sets the store that should have the key.
    #[must_use]
    pub(crate) fn stored_in(mut self, store: Option<KeyStore>) -> Self {
        self.store = store;
        self
    }

    pub(crate) fn profile(&self) -> &str {
        &self.profile
    }

    /// Returns the scheme, the host, a port that is not the default, and the path.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the store that should have the key.
    pub(crate) fn store(&self) -> Option<KeyStore> {
        self.store
    }

    /// Returns the name of the entry in a keyring. No profile contains the separator, so that two accounts
    /// never share an entry.
    pub(super) fn entry(&self) -> String {
        format!("{}|{}", self.origin, self.profile)
    }

    /// Returns the label that the user sees in the keyring.
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

    fn origin(base_url: &str) -> String {
        Account::new("p", base_url).unwrap().origin
    }

    #[test]
    fn equal_base_urls_have_one_origin() {
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
            assert_eq!(origin(same), "https://forms.example", "{same}");
        }
        assert_eq!(origin("http://[0:0::1]:80/a/"), "http://[::1]/a");
    }

    #[test]
    fn similar_base_urls_have_different_origins() {
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
        .map(origin);
        for (at, one) in origins.iter().enumerate() {
            assert!(!origins[at + 1..].contains(one), "{one}");
        }
    }

    #[test]
    fn invalid_base_url_is_not_repeated_in_the_error() {
        for bad in [
            "",
            "forms.example",
            "ftp://h",
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
    fn profile_name_has_only_plain_characters() {
        for good in ["default", "work", "a", "A-b_c-9", "9", "_x"] {
            assert!(check_profile(good).is_ok(), "{good}");
        }
        let long = "a".repeat(65);
        for bad in ["", "-x", "a.b", "a b", "a|b", "a\nb", "a\0b", "ä", "a/b", "..", &long] {
            assert!(check_profile(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn accounts_have_different_entries() {
        let one = Account::new("c", "https://h/a%7Cb").unwrap();
        let other = Account::new("c", "https://h/a|b").unwrap();
        assert_ne!(one.entry(), other.entry());
        assert!(Account::new("b|c", "https://h/a").is_err());
    }
}
