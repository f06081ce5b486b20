//! The signing secrets of a profile. They are in the same stores as API keys, as one entry.

use secrecy::{ExposeSecret, SecretString};

use super::{Account, KEY_MAX, StoreError, Stores};
use crate::base::masked::secret_prefix;
use crate::error::CliError;
use crate::settings::KeyStore;

/// Longest name of a secret.
const NAME_MAX: usize = 64;

/// Signing secrets by name, the current one first.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredSecrets {
    pub(crate) secrets: Vec<(String, SecretString)>,
    /// The store that contains them; `None` if there are none.
    pub(crate) store: Option<KeyStore>,
}

impl StoredSecrets {
    /// Checks that no secret has the name.
    pub(crate) fn check_unused(&self, name: &str) -> Result<(), CliError> {
        if self.secrets.iter().any(|(other, _)| other == name) {
            return Err(CliError::usage(format!(
                "there is a signing secret with the name `{name}` already"
            ))
            .hint(format!(
                "pass another name, or remove it: formsvc webhook secret remove {name}"
            )));
        }
        Ok(())
    }

    /// Adds a secret as the current one.
    pub(crate) fn add(&mut self, name: &str, secret: SecretString) -> Result<(), CliError> {
        self.check_unused(name)?;
        let same = |other: &SecretString| other.expose_secret() == secret.expose_secret();
        if let Some((other, _)) = self.secrets.iter().find(|(_, other)| same(other)) {
            let what = format!("the signing secret is stored already, with the name `{other}`");
            return Err(CliError::usage(what));
        }
        self.secrets.insert(0, (name.to_owned(), secret));
        if self.to_text().expose_secret().len() > KEY_MAX {
            self.secrets.remove(0);
            let what =
                format!("the signing secrets of a profile have {KEY_MAX} bytes together at most");
            return Err(CliError::usage(what));
        }
        Ok(())
    }

    /// Removes a secret. Returns false if there is none with this name.
    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let before = self.secrets.len();
        self.secrets.retain(|(other, _)| other != name);
        self.secrets.len() < before
    }

    fn to_text(&self) -> SecretString {
        let pairs: Vec<_> =
            self.secrets.iter().map(|(name, secret)| (name, secret.expose_secret())).collect();
        serde_json::to_string(&pairs).expect("texts serialize").into()
    }

    fn from_text(text: &str) -> Option<Vec<(String, SecretString)>> {
        let pairs: Vec<(String, String)> = serde_json::from_str(text).ok()?;
        Some(pairs.into_iter().map(|(name, secret)| (name, secret.into())).collect())
    }
}

impl Stores {
    /// Reads the signing secrets of a profile.
    pub(crate) fn signing_secrets(&self, profile: &str) -> Result<StoredSecrets, StoreError> {
        let account = Account::signing_secrets(profile);
        let Some((store, text)) = self.find(&account)? else {
            return Ok(StoredSecrets::default());
        };
        let secrets = StoredSecrets::from_text(text.expose_secret());
        let secrets = secrets.ok_or(StoreError::BadSecrets(store))?;
        Ok(StoredSecrets { secrets, store: Some(store) })
    }

    /// Replaces the signing secrets of a profile. None removes the entry.
    pub(crate) fn set_signing_secrets(
        &self,
        profile: &str,
        stored: &StoredSecrets,
        store: KeyStore,
    ) -> Result<(), StoreError> {
        let account = Account::signing_secrets(profile).stored_in(stored.store);
        if stored.secrets.is_empty() {
            return self.remove(&account).map(drop);
        }
        self.write(&account, &stored.to_text(), store)?;
        self.remove_other_copy(&account, store)
    }
}

/// Checks the name of a secret: it is printed in lines and stored in a keyring.
pub(crate) fn check_secret_name(name: &str) -> Result<String, String> {
    if secret_prefix(name).is_some() {
        return Err("it looks like a secret, and names are printed".to_owned());
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=NAME_MAX).contains(&name.len()) && name.chars().all(is_plain) && !name.starts_with('-')
    {
        return Ok(name.to_owned());
    }
    Err("a name has 1 to 64 characters of A-Z, a-z, 0-9, `-`, `_` and `.`, and does not begin with `-`"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_of_the_first_test";

    #[test]
    fn added_secret_is_the_current_one() {
        let mut stored = StoredSecrets::default();
        stored.add("old", SECRET.into()).unwrap();
        stored.add("new", "whsec_\"of\\the second".into()).unwrap();
        let text = stored.to_text();
        let read = StoredSecrets::from_text(text.expose_secret()).unwrap();
        let read: Vec<_> =
            read.iter().map(|(name, secret)| (&**name, secret.expose_secret())).collect();
        assert_eq!(read, [("new", "whsec_\"of\\the second"), ("old", SECRET)]);
        assert!(stored.remove("old") && !stored.remove("old"));
        assert_eq!(stored.secrets.len(), 1);
        assert!(StoredSecrets::from_text("fsk_1").is_none());
    }

    #[test]
    fn repeated_or_too_many_secrets_are_refused() {
        let mut stored = StoredSecrets::default();
        stored.add("a", SECRET.into()).unwrap();
        let long = "x".repeat(KEY_MAX);
        for (name, secret, reason) in [
            ("a", "x", "name `a`"),
            ("b", SECRET, "stored already"),
            ("b", &long, "bytes together"),
        ] {
            let error = stored.add(name, secret.into()).unwrap_err().to_text();
            assert!(error.contains(reason) && !error.contains(SECRET), "{error}");
        }
        assert_eq!(stored.secrets.len(), 1);
    }

    #[test]
    fn secret_name_has_only_plain_characters() {
        for good in ["default", "2026-01", "a.b_c"] {
            assert!(check_secret_name(good).is_ok(), "{good}");
        }
        for bad in ["whsec_abc", "fsk_abc", "", "-a", "a b", "ä", "a\n", &"a".repeat(65)] {
            assert!(check_secret_name(bad).is_err(), "{bad:?}");
        }
    }
}
