//! Setting up a verifier.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::SigningSecret;
use secrecy::{ExposeSecret, SecretString};

use crate::Verifier;
use crate::verifier::Clock;

/// Longest body taken when the builder is told nothing, in bytes: 1 MiB.
pub const MAX_BODY_DEFAULT: usize = 1 << 20;

/// Sets up a [`Verifier`]; everything is checked by [`build`](Self::build).
#[must_use]
pub struct VerifierBuilder {
    secrets: Vec<(String, SecretString)>,
    tolerance: Duration,
    max_body: usize,
    clock: Box<Clock>,
}

impl VerifierBuilder {
    pub(crate) fn new() -> Self {
        Self {
            secrets: Vec::new(),
            tolerance: SIGNATURE_TOLERANCE,
            max_body: MAX_BODY_DEFAULT,
            clock: Box::new(SystemTime::now),
        }
    }

    /// Adds a signing secret: its whole text, `whsec_` included, is the key (SPEC §5). It is named by
    /// its place, `1` for the first. While a secret is rotated, give the new and the old.
    pub fn secret(self, secret: SecretString) -> Self {
        let place = self.secrets.len() + 1;
        self.secret_named(place.to_string(), secret)
    }

    /// Adds a signing secret under a name of your own, which [`Signed::secret`](crate::Signed::secret)
    /// tells again. The name is no secret.
    pub fn secret_named(mut self, name: impl Into<String>, secret: SecretString) -> Self {
        self.secrets.push((name.into(), secret));
        self
    }

    /// Largest difference between a signature's time and now, in either direction; whole seconds
    /// count. 300 s unless told otherwise (SPEC §8).
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Where the time comes from: the system's clock unless told otherwise. Called once for each
    /// delivery whose body is verified; nothing else here asks for the time.
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Longest body taken, in bytes: [`MAX_BODY_DEFAULT`], unless told otherwise. A public form of
    /// the reference service takes 256 KiB; through its API it takes up to 4 MiB of answers. The
    /// specification names no limit.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// The verifier; a [`ConfigError`] tells what cannot work.
    pub fn build(self) -> Result<Verifier, ConfigError> {
        if self.secrets.is_empty() {
            return Err(ConfigError::NoSecret);
        }
        let (mut keys, mut names) = (Vec::new(), Vec::<Arc<str>>::new());
        let mut taken = BTreeSet::new();
        for (name, secret) in &self.secrets {
            let text = secret.expose_secret();
            if text.trim() != text {
                return Err(ConfigError::SpaceAroundSecret { name: name.clone() });
            }
            let key = SigningSecret::new(secret);
            keys.push(key.ok_or_else(|| ConfigError::EmptySecret { name: name.clone() })?);
            if !taken.insert(name) {
                return Err(ConfigError::DuplicateName { name: name.clone() });
            }
            names.push(name.as_str().into());
        }
        Ok(Verifier::new(keys, names, self.tolerance, self.max_body, self.clock))
    }
}

impl fmt::Debug for VerifierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.secrets.iter().map(|(name, _)| name).collect();
        f.debug_struct("VerifierBuilder")
            .field("secrets", &names)
            .field("tolerance", &self.tolerance)
            .field("max_body", &self.max_body)
            .finish_non_exhaustive()
    }
}

/// Why there is no verifier. Holds names of secrets, never their text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No secret was given.
    NoSecret,
    /// A secret is empty.
    EmptySecret {
        /// Its name.
        name: String,
    },
    /// A secret begins or ends with space, such as the line feed of the file it was read from. The
    /// whole text is the key, so it would match nothing.
    SpaceAroundSecret {
        /// Its name.
        name: String,
    },
    /// Two secrets have one name.
    DuplicateName {
        /// The name.
        name: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecret => f.write_str("a verifier needs a signing secret"),
            Self::EmptySecret { name } => write!(f, "the secret {name:?} is empty"),
            Self::SpaceAroundSecret { name } => {
                write!(
                    f,
                    "the secret {name:?} begins or ends with space, which would be part of it"
                )
            }
            Self::DuplicateName { name } => write!(f, "two secrets are named {name:?}"),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(builder: VerifierBuilder) -> ConfigError {
        builder.build().unwrap_err()
    }

    #[test]
    fn a_verifier_needs_secrets_that_are_not_empty_and_names_that_differ() {
        assert_eq!(refused(Verifier::builder()), ConfigError::NoSecret);
        let name = || "b".to_owned();
        let one = || Verifier::builder().secret_named("a", "whsec_a".into());
        assert_eq!(
            refused(one().secret_named("b", "".into())),
            ConfigError::EmptySecret { name: name() }
        );
        assert_eq!(
            refused(one().secret_named("b", "whsec_b\n".into())),
            ConfigError::SpaceAroundSecret { name: name() }
        );
        assert_eq!(
            refused(one().secret_named("a", "whsec_b".into())),
            ConfigError::DuplicateName { name: "a".to_owned() }
        );
        let named_by_place = one().secret_named("3", "whsec_b".into()).secret("whsec_c".into());
        assert_eq!(refused(named_by_place), ConfigError::DuplicateName { name: "3".to_owned() });
    }

    #[test]
    fn secrets_without_a_name_are_named_by_their_place() {
        let verifier =
            Verifier::builder().secret("whsec_a".into()).secret("whsec_b".into()).build().unwrap();
        assert_eq!(verifier.secret_names().collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn no_secret_shows_in_debug_or_in_an_error() {
        let builder = Verifier::builder().secret("whsec_hunter2".into());
        let shown = format!("{builder:?}") + &format!("{:?}", builder.build().unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
        let error = refused(Verifier::builder().secret("hunter2 ".into()));
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    }
}
