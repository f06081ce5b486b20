//! Why a verifier cannot be created.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use super::MAX_TOLERANCE;
use crate::SecretError;

/// An invalid setting of a verifier. Contains names of secrets, never their text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No secret was added.
    NoSecret,
    /// A text cannot be a signing secret.
    #[non_exhaustive]
    InvalidSecret {
        /// Name of the secret.
        name: String,
        /// The problem of the text.
        error: SecretError,
    },
    /// Two secrets have the same name.
    #[non_exhaustive]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// The tolerance is over [`MAX_TOLERANCE`].
    #[non_exhaustive]
    ToleranceTooLong {
        /// The tolerance.
        tolerance: Duration,
    },
}

impl ConfigError {
    /// The same error for a secret with this name.
    pub(super) fn named(self, name: &str) -> Self {
        match self {
            Self::InvalidSecret { error, .. } => Self::InvalidSecret { name: name.into(), error },
            other => other,
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecret => f.write_str("a verifier needs a signing secret"),
            Self::InvalidSecret { name, error } if name.is_empty() => {
                write!(f, "the signing secret {error}")
            }
            Self::InvalidSecret { name, error } => write!(f, "the signing secret `{name}` {error}"),
            Self::DuplicateName { name } => {
                write!(f, "two signing secrets have the name `{name}`")
            }
            Self::ToleranceTooLong { tolerance } => {
                let max = MAX_TOLERANCE.as_secs();
                write!(f, "the tolerance `{tolerance:?}` is over the maximum of {max} s")
            }
        }
    }
}

impl std::error::Error for ConfigError {}

impl From<SecretError> for ConfigError {
    fn from(error: SecretError) -> Self {
        Self::InvalidSecret { name: String::new(), error }
    }
}

impl From<Infallible> for ConfigError {
    /// For secrets that were converted before.
    fn from(error: Infallible) -> Self {
        match error {}
    }
}
