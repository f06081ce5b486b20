//! The error of proxy and TLS settings.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Parts};
use crate::operation::BUILD;

/// A proxy or TLS setting that cannot be used. Its text names the variable or flag, and never shows
/// the value of a proxy variable, which may contain a password.
#[derive(Clone, Debug)]
pub struct NetworkError {
    message: Cow<'static, str>,
    hint: Option<&'static str>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

impl NetworkError {
    pub(super) fn new(message: impl Into<Cow<'static, str>>) -> Self {
        Self { message: message.into(), hint: None, source: None }
    }

    /// The error of a variable or a flag; `rule` follows its name.
    pub(super) fn setting(name: &str, rule: impl fmt::Display) -> Self {
        Self { message: format!("`{name}` {rule}").into(), hint: None, source: None }
    }

    pub(super) fn with_hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    pub(super) fn because(self, source: impl StdError + Send + Sync + 'static) -> Self {
        Self { source: Some(Arc::new(source)), ..self }
    }

    /// How to correct the setting.
    pub fn hint(&self) -> Option<&'static str> {
        self.hint
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for NetworkError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<NetworkError> for Error {
    fn from(error: NetworkError) -> Self {
        let parts = Self::parts(ErrorKind::Config, BUILD, error.message);
        Parts { source: error.source.map(Into::into), ..parts }.into()
    }
}
