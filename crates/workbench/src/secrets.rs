//! Named signing secrets, for verifying and signing deliveries.

use std::fmt;
use std::sync::Arc;

use formsvc_protocol::SecretTextError;
use formsvc_protocol::signature::SigningSecret;
use formsvc_receiver::{ConfigError, Verifier, VerifierBuilder};
use secrecy::{ExposeSecret, SecretString};

/// The signing secrets of one endpoint. During a rotation, an endpoint has several secrets; the first secret is the
/// current one.
#[derive(Clone, Default)]
pub struct SigningSecrets(Vec<NamedSecret>);

#[derive(Clone)]
struct NamedSecret {
    name: Arc<str>,
    text: SecretString,
    signing: SigningSecret,
}

/// A secret cannot be added.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddSecretError {
    #[error("the signing secret `{name}` {error}")]
    Invalid { name: String, error: SecretTextError },
    #[error("the signing secrets `{name}` and `{same_as}` are the same")]
    Duplicate { name: String, same_as: String },
}

impl SigningSecrets {
    /// Adds a secret after the existing secrets. If the name is already in use, a number is appended: `name (2)`.
    ///
    /// # Errors
    /// Fails if the text is not a signing secret, or if the same secret was already added.
    pub fn add(&mut self, name: &str, text: SecretString) -> Result<(), AddSecretError> {
        let exposed = text.expose_secret();
        let signing = SigningSecret::try_from(exposed)
            .map_err(|error| AddSecretError::Invalid { name: name.to_owned(), error })?;
        if let Some(same) = self.0.iter().find(|other| other.text.expose_secret() == exposed) {
            let same_as = same.name.to_string();
            return Err(AddSecretError::Duplicate { name: name.to_owned(), same_as });
        }
        let mut unique = name.to_owned();
        let mut number = 2;
        while self.names().any(|other| *other == unique) {
            unique = format!("{name} ({number})");
            number += 1;
        }
        self.0.push(NamedSecret { name: unique.into(), text, signing });
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names of the secrets, beginning with the current one.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|secret| &*secret.name)
    }

    /// Returns the secrets as keys, beginning with the current one.
    pub fn signing(&self) -> impl Iterator<Item = SigningSecret> {
        self.0.iter().map(|secret| secret.signing.clone())
    }

    /// Returns the secrets as texts, for
    /// [`Variant::sign`](formsvc_contract::variant::Variant::sign).
    pub fn texts(&self) -> Vec<SecretString> {
        self.0.iter().map(|secret| secret.text.clone()).collect()
    }

    /// Returns a verifier with the system's clock, or `None` without a secret.
    pub fn verifier(&self, max_body: usize) -> Result<Option<Verifier>, ConfigError> {
        if self.is_empty() {
            return Ok(None);
        }
        self.builder().max_body(max_body).build().map(Some)
    }

    /// Returns the builder of a verifier with these secrets.
    pub fn builder(&self) -> VerifierBuilder {
        self.0.iter().fold(Verifier::builder(), |builder, secret| {
            builder.named_secret(&*secret.name, secret.signing.clone())
        })
    }

    /// Returns true if a secret has this name and is not the current one.
    pub fn is_previous(&self, name: &str) -> bool {
        self.names().skip(1).any(|previous| previous == name)
    }
}

impl fmt::Debug for SigningSecrets {
    /// Prints only the names of the secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    const FIRST: &str = "whsec_of_the_first_test";
    const SECOND: &str = "whsec_of_the_second_test";

    fn secrets() -> SigningSecrets {
        let mut secrets = SigningSecrets::default();
        secrets.add("new", FIRST.into()).unwrap();
        secrets.add("old", SECOND.into()).unwrap();
        secrets
    }

    #[test]
    fn secret_names_are_made_unique() {
        let mut secrets = SigningSecrets::default();
        for number in 1..=3 {
            secrets.add("a", format!("whsec_of_number_{number}").into()).unwrap();
        }
        assert_eq!(secrets.names().collect::<Vec<_>>(), ["a", "a (2)", "a (3)"]);
        assert!(secrets.verifier(1).unwrap().is_some());
    }

    #[test]
    fn short_or_repeated_secret_is_an_error() {
        let mut secrets = secrets();
        let short = secrets.add("short", "whsec_1".into()).unwrap_err();
        assert!(short.to_string().starts_with("the signing secret `short` "), "{short}");
        let twice = secrets.add("b", FIRST.into()).unwrap_err();
        assert_eq!(twice.to_string(), "the signing secrets `b` and `new` are the same");
        assert_eq!(secrets.names().count(), 2);
    }

    #[test]
    fn first_secret_signs_and_all_verify() {
        let secrets = secrets();
        for (key, name) in secrets.signing().zip(["new", "old"]) {
            let header = formsvc_protocol::signature::sign([&key], 7, b"{}");
            let clock = || UNIX_EPOCH + Duration::from_secs(7);
            let verifier = secrets.builder().clock(clock).build().unwrap();
            let proof = verifier.verify_signature(header, b"{}").unwrap();
            assert_eq!(proof.secret_name(), name);
        }
        assert!(secrets.is_previous("old") && !secrets.is_previous("new"));
        assert_eq!(secrets.texts().len(), 2);
        assert!(SigningSecrets::default().verifier(1).unwrap().is_none());
    }

    #[test]
    fn debug_prints_names_only() {
        assert_eq!(format!("{:?}", secrets()), r#"["new", "old"]"#);
    }
}
