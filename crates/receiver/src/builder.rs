//! Setting up a verifier.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::SigningSecret;
use secrecy::{ExposeSecret, SecretString};

use crate::Verifier;
#[cfg(feature = "tower")]
use crate::tower::ReadLimit;
use crate::verifier::Clock;

/// Longest body taken when the builder is told nothing, in bytes: 1 MiB.
pub const MAX_BODY_DEFAULT: usize = 1 << 20;
/// Shortest signing secret taken, in bytes. Those of the service have 49; what is shorter than this was
/// cut off on its way here, or can be guessed.
pub const SECRET_MIN: usize = 16;
/// Largest tolerance taken: an hour. For so long on either side of its time a delivery that somebody
/// recorded verifies again; then only the inbox knows that it was handled, and it must remember longer
/// than that: at least [`TTL_MIN`](crate::inbox::TTL_MIN), 4 hours.
pub const TOLERANCE_MAX: Duration = Duration::from_secs(3_600);

/// Sets up a [`Verifier`]; everything is checked by [`build`](Self::build).
#[must_use]
pub struct VerifierBuilder {
    secrets: Vec<(String, SecretString)>,
    pub(crate) tolerance: Duration,
    pub(crate) max_body: usize,
    pub(crate) clock: Box<Clock>,
    #[cfg(feature = "tower")]
    pub(crate) read_limit: Option<ReadLimit>,
}

impl VerifierBuilder {
    pub(crate) fn new() -> Self {
        Self {
            secrets: Vec::new(),
            tolerance: SIGNATURE_TOLERANCE,
            max_body: MAX_BODY_DEFAULT,
            clock: Box::new(SystemTime::now),
            #[cfg(feature = "tower")]
            read_limit: None,
        }
    }

    /// Adds a signing secret of the endpoint: its whole text, `whsec_` included, is the key (SPEC §5), of at
    /// least [`SECRET_MIN`] bytes. It is named by its place, `1` for the first.
    ///
    /// While the secret is rotated, give the new and the old. Never give the secrets of several endpoints:
    /// each would sign for all ([`Verifier`]).
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
    /// count, and [`TOLERANCE_MAX`] is the most. 300 s unless told otherwise (SPEC §8).
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Where the time comes from: the system's clock unless told otherwise. Called once for each delivery
    /// before its body is read, and once when it is verified.
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

    /// How long the layer and the extractor read a body at most, and what waits so long: with tokio
    /// `tokio::time::sleep`. What takes longer is answered with 408. **Without it they wait for a body as
    /// long as the server does**, which of hyper and axum is for ever, and anybody can send one slowly.
    ///
    /// The time runs from when more of the body is first waited for. What the service sends is there at
    /// once; 10 s, which is all it waits for an answer (SPEC §6), are plenty.
    ///
    /// ```
    /// use std::time::Duration;
    /// let verifier = formsvc_receiver::Verifier::builder()
    ///     .secret("whsec_of_an_example".into())
    ///     .read_timeout(Duration::from_secs(10), tokio::time::sleep)
    ///     .build()?;
    /// # Ok::<(), formsvc_receiver::ConfigError>(())
    /// ```
    #[cfg(feature = "tower")]
    pub fn read_timeout<F>(
        mut self,
        limit: Duration,
        sleep: impl Fn(Duration) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.read_limit = Some(ReadLimit::new(limit, sleep));
        self
    }

    /// The verifier; a [`ConfigError`] tells what cannot work.
    pub fn build(self) -> Result<Verifier, ConfigError> {
        if self.secrets.is_empty() {
            return Err(ConfigError::NoSecret);
        }
        if self.tolerance > TOLERANCE_MAX {
            return Err(ConfigError::ToleranceTooLong { tolerance: self.tolerance });
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
            if text.len() < SECRET_MIN {
                return Err(ConfigError::ShortSecret { name: name.clone() });
            }
            if !taken.insert(name) {
                return Err(ConfigError::DuplicateName { name: name.clone() });
            }
            names.push(name.as_str().into());
        }
        Ok(Verifier::new(keys, names, self))
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
    /// A secret has fewer than [`SECRET_MIN`] bytes, such as the bare prefix `whsec_`.
    ShortSecret {
        /// Its name.
        name: String,
    },
    /// The tolerance is over [`TOLERANCE_MAX`].
    ToleranceTooLong {
        /// The tolerance.
        tolerance: Duration,
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
            Self::ShortSecret { name } => {
                write!(f, "the secret {name:?} has fewer than {SECRET_MIN} bytes")
            }
            Self::ToleranceTooLong { tolerance } => {
                let most = TOLERANCE_MAX.as_secs();
                write!(f, "a tolerance of `{tolerance:?}` is over {most} s")
            }
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
        let one = || Verifier::builder().secret_named("a", "whsec_0123456789".into());
        assert_eq!(
            refused(one().secret_named("b", "".into())),
            ConfigError::EmptySecret { name: name() }
        );
        assert_eq!(
            refused(one().secret_named("b", "whsec_0123456789\n".into())),
            ConfigError::SpaceAroundSecret { name: name() }
        );
        assert_eq!(
            refused(one().secret_named("a", "whsec_9876543210".into())),
            ConfigError::DuplicateName { name: "a".to_owned() }
        );
        let named_by_place =
            one().secret_named("3", "whsec_9876543210".into()).secret("whsec_0000000000".into());
        assert_eq!(refused(named_by_place), ConfigError::DuplicateName { name: "3".to_owned() });
    }

    #[test]
    fn a_secret_that_was_cut_off_is_refused() {
        let of = |secret: &str| Verifier::builder().secret(secret.into()).build();
        for secret in ["a", "whsec_", "whsec_012345678", "schl\u{fc}ssel_1234"] {
            let name = "1".to_owned();
            assert_eq!(of(secret).unwrap_err(), ConfigError::ShortSecret { name }, "{secret}");
        }
        assert!(of("whsec_0123456789").is_ok());
    }

    #[test]
    fn a_tolerance_within_which_an_inbox_forgets_is_refused() {
        use crate::inbox::TTL_MIN;
        let of = |tolerance| {
            Verifier::builder().secret("whsec_0123456789".into()).tolerance(tolerance).build()
        };
        assert!(of(TOLERANCE_MAX).is_ok());
        for tolerance in [TOLERANCE_MAX + Duration::from_nanos(1), Duration::MAX] {
            assert_eq!(of(tolerance).unwrap_err(), ConfigError::ToleranceTooLong { tolerance });
        }
        // From the earliest it can be handled to the latest it can be sent again.
        assert!(TOLERANCE_MAX * 2 < TTL_MIN);
    }

    #[test]
    fn secrets_without_a_name_are_named_by_their_place() {
        let verifier = Verifier::builder()
            .secret("whsec_of_the_first".into())
            .secret("whsec_of_the_other".into());
        let verifier = verifier.build().unwrap();
        assert_eq!(verifier.secret_names().collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn no_secret_shows_in_debug_or_in_an_error() {
        let builder = Verifier::builder().secret("whsec_0123_hunter2".into());
        let shown = format!("{builder:?}") + &format!("{:?}", builder.build().unwrap());
        assert!(!shown.contains("hunter2"), "{shown}");
        for secret in ["hunter2 ", "hunter2"] {
            let error = refused(Verifier::builder().secret(secret.into()));
            assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
        }
    }
}
