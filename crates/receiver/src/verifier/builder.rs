//! Settings of a verifier.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use formsvc_protocol::limits::{DELIVERY_TIMEOUT, SIGNATURE_TOLERANCE};

use super::{Clock, ConfigError, Inner, Verifier};
use crate::SigningSecret;

/// Default limit for the size of a body: 1 MiB.
pub const DEFAULT_MAX_BODY: usize = 1 << 20;
/// Default time limit for reading a body: 10 s, the time that the service waits for a response
/// (SPEC §6).
pub const DEFAULT_READ_TIMEOUT: Duration = DELIVERY_TIMEOUT;
/// Largest tolerance: one hour. A recorded delivery can be replayed for twice this time, so an inbox
/// must remember it for longer.
pub const MAX_TOLERANCE: Duration = Duration::from_secs(3_600);

/// Settings of a [`Verifier`]. [`build`](Self::build) checks them.
#[must_use]
pub struct VerifierBuilder {
    secrets: Vec<(String, SigningSecret)>,
    /// The first error of a setter.
    error: Option<ConfigError>,
    tolerance: Duration,
    max_body: usize,
    read_timeout: Duration,
    clock: Box<Clock>,
}

impl VerifierBuilder {
    pub(super) fn new() -> Self {
        Self {
            secrets: Vec::new(),
            error: None,
            tolerance: SIGNATURE_TOLERANCE,
            max_body: DEFAULT_MAX_BODY,
            read_timeout: DEFAULT_READ_TIMEOUT,
            clock: Box::new(SystemTime::now),
        }
    }

    /// Adds a signing secret of the endpoint. Its name is its number, `1` for the first.
    ///
    /// Add the new and the old secret during a rotation. Never add secrets of several endpoints: see
    /// [`Verifier`].
    pub fn secret<S>(self, secret: S) -> Self
    where
        S: TryInto<SigningSecret>,
        ConfigError: From<S::Error>,
    {
        let number = self.secrets.len() + 1;
        self.named_secret(number.to_string(), secret)
    }

    /// Adds a signing secret with a name, which
    /// [`SignatureProof::secret_name`](crate::SignatureProof::secret_name) returns. Names are logged;
    /// they must not be confidential.
    pub fn named_secret<S>(mut self, name: impl Into<String>, secret: S) -> Self
    where
        S: TryInto<SigningSecret>,
        ConfigError: From<S::Error>,
    {
        let name = name.into();
        match secret.try_into().map_err(ConfigError::from) {
            Err(error) => self.error = self.error.or(Some(error.named(&name))),
            Ok(_) if self.secrets.iter().any(|(other, _)| *other == name) => {
                self.error = self.error.or(Some(ConfigError::DuplicateName { name }));
            }
            Ok(secret) => self.secrets.push((name, secret)),
        }
        self
    }

    /// Sets the largest difference between the time of a signature and now, in either direction: 300 s
    /// by default (SPEC §8), at most [`MAX_TOLERANCE`]. Fractions of a second are ignored.
    pub fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Sets the clock: the system's by default.
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Sets the largest accepted body in bytes: [`DEFAULT_MAX_BODY`] by default. The specification
    /// defines no limit; the reference service accepts forms up to 256 KiB, and up to 4 MiB of answers
    /// through its API.
    pub fn max_body(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// Sets the time limit for reading a body: [`DEFAULT_READ_TIMEOUT`] by default. The layer and the
    /// axum extractor apply it with tokio's timer, and respond with 408 to a slower request.
    pub fn read_timeout(mut self, limit: Duration) -> Self {
        self.read_timeout = limit;
        self
    }

    /// Creates the verifier, or returns the first invalid setting.
    pub fn build(self) -> Result<Verifier, ConfigError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.secrets.is_empty() {
            return Err(ConfigError::NoSecret);
        }
        if self.tolerance > MAX_TOLERANCE {
            return Err(ConfigError::ToleranceTooLong { tolerance: self.tolerance });
        }
        let (names, secrets) =
            self.secrets.into_iter().map(|(name, secret)| (Arc::from(name), secret)).unzip();
        let inner = Inner {
            secrets,
            names,
            tolerance: self.tolerance,
            max_body: self.max_body,
            read_timeout: self.read_timeout,
            clock: self.clock,
        };
        Ok(Verifier { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for VerifierBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.secrets.iter().map(|(name, _)| name).collect();
        f.debug_struct("VerifierBuilder").field("secrets", &names).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "whsec_0123_hunter2";

    fn build_error(builder: VerifierBuilder) -> String {
        let error = builder.build().unwrap_err();
        assert!(!format!("{error:?} {error}").contains("hunter2"), "{error:?}");
        error.to_string()
    }

    #[test]
    fn invalid_setting_is_named_by_build() {
        assert_eq!(build_error(Verifier::builder()), "a verifier needs a signing secret");
        let builder = || Verifier::builder().named_secret("new", SECRET);
        for (builder, error) in [
            (builder().named_secret("old", ""), "the signing secret `old` is empty"),
            (builder().named_secret("old", "hunter2"), "fewer than 16 bytes"),
            (builder().secret(format!("\"{SECRET}\"")), "the signing secret `2` begins or ends"),
            (builder().named_secret("new", SECRET), "two signing secrets have the name `new`"),
            (builder().named_secret("2", SECRET).secret("\n").secret(""), "`3` contains"),
            (builder().tolerance(MAX_TOLERANCE + Duration::from_nanos(1)), "3600 s"),
        ] {
            let found = build_error(builder);
            assert!(found.contains(error), "{found}");
        }
    }

    #[test]
    fn verifier_accepts_every_form_of_a_secret() {
        let secret: SigningSecret = SECRET.parse().unwrap();
        assert!(Verifier::new(secret).is_ok());
        assert!(Verifier::new(SECRET).is_ok());
        assert!(Verifier::new(SECRET.to_owned()).is_ok());
        assert!(Verifier::new("").is_err());
    }

    #[test]
    fn secrets_are_not_in_debug() {
        let builder = Verifier::builder().secret(SECRET).named_secret("old", "whsec_1111_hunter2");
        let debug = format!("{builder:?}") + &format!("{:?}", builder.build().unwrap());
        assert!(debug.contains("\"old\"") && !debug.contains("hunter2"), "{debug}");
    }

    #[cfg(feature = "inbox")]
    #[test]
    fn tolerance_is_shorter_than_inbox_memory() {
        // A delivery can be handled one tolerance early, and replayed one tolerance late.
        assert!(MAX_TOLERANCE * 2 < crate::inbox::TTL_MIN);
    }
}
