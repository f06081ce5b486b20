//! The names that keep handlers of one submission apart.

use std::sync::Arc;

use super::{InboxError, InboxErrorKind};

/// Longest name, in bytes.
const LEN_MAX: usize = 64;
/// The name of who asked for none.
const DEFAULT: &str = "default";

/// A name that was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scope(Arc<str>);

impl Scope {
    pub(crate) fn new(name: &str) -> Result<Self, InboxError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=LEN_MAX).contains(&name.len()) && name.bytes().all(plain) {
            return Ok(Self(name.into()));
        }
        let why = "a scope is 1 to 64 letters, digits, `.`, `_` and `-`";
        Err(InboxError::with_source(InboxErrorKind::Setup, why))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

impl Default for Scope {
    fn default() -> Self {
        Self(DEFAULT.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_a_plain_name() {
        for name in ["a", "default", "billing.v2-EU_1", &"s".repeat(LEN_MAX)] {
            assert_eq!(Scope::new(name).unwrap().name(), name);
        }
        for name in ["", " ", "a b", "é", "a\0", "a/b", &"s".repeat(LEN_MAX + 1)] {
            assert_eq!(Scope::new(name).unwrap_err().kind(), InboxErrorKind::Setup, "{name:?}");
        }
        assert!(Scope::new(DEFAULT).is_ok());
    }
}
