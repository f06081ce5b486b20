//! Names that separate the handlers of one submission.

use std::sync::Arc;

use super::InboxError;

/// Longest name in bytes.
const MAX_BYTES: usize = 64;
const DEFAULT: &str = "default";

/// A valid name of a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope(Arc<str>);

impl Scope {
    pub(super) fn new(name: &str) -> Result<Self, InboxError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if (1..=MAX_BYTES).contains(&name.len()) && name.bytes().all(is_plain) {
            return Ok(Self(name.into()));
        }
        let rule = format!("a scope has 1 to {MAX_BYTES} letters, digits, `.`, `_` and `-`");
        Err(InboxError::config(rule))
    }

    pub(super) fn name(&self) -> &str {
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
    use crate::inbox::InboxErrorKind;

    #[test]
    fn scope_is_a_plain_name() {
        for name in ["a", DEFAULT, "billing.v2-EU_1", &"s".repeat(MAX_BYTES)] {
            assert_eq!(Scope::new(name).unwrap().name(), name);
        }
        for name in ["", " ", "a b", "é", "a\0", "a/b", &"s".repeat(MAX_BYTES + 1)] {
            let error = Scope::new(name).unwrap_err();
            assert_eq!(error.kind(), InboxErrorKind::InvalidConfig, "{name:?}");
        }
    }
}
