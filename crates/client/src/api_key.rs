//! The API key: checked once, sent with every request, never shown.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use formsvc_protocol::check_secret_text;
use http::{HeaderMap, HeaderValue};
use zeroize::Zeroizing;

/// Shorter keys are not searched for in foreign text: their removal would garble the text.
const REDACTED_FROM: usize = 8;
const REDACTED: &str = "[api key]";

/// An API key of the service (SPEC §5): visible ASCII, not in quotation marks.
///
/// The Debug output does not contain the key, and its memory is overwritten when the key is dropped.
///
/// ```
/// use formsvc_client::ApiKey;
/// let key = ApiKey::try_from("fsk_example")?;
/// assert_eq!(format!("{key:?}"), "[api key]");
/// assert!(ApiKey::try_from("\"fsk_example\"").is_err());
/// # Ok::<(), formsvc_client::types::ApiKeyError>(())
/// ```
#[derive(Clone)]
pub struct ApiKey(Zeroizing<String>);

/// The rule that the text of an [`ApiKey`] breaks. Does not contain the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeyError(String);

impl ApiKey {
    fn new(text: Zeroizing<String>) -> Result<Self, ApiKeyError> {
        let error = |problem: &dyn fmt::Display| ApiKeyError(format!("the API key {problem}"));
        check_secret_text(&text).map_err(|problem| error(&problem))?;
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(error(&"contains a character that is not visible ASCII"));
        }
        Ok(Self(text))
    }

    /// Returns the value of `Authorization` (SPEC §5), marked sensitive.
    pub(crate) fn authorization(&self) -> HeaderValue {
        let text = Zeroizing::new(format!("Bearer {}", self.0.as_str()));
        let mut value = HeaderValue::try_from(text.as_str()).expect("visible ASCII is valid");
        value.set_sensitive(true);
        value
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes the key from foreign text, in case the service echoed it.
    pub(crate) fn redact(&self, text: String) -> String {
        let key = self.0.as_str();
        if key.len() >= REDACTED_FROM { text.replace(key, REDACTED) } else { text }
    }

    /// Removes the key from foreign bytes.
    pub(crate) fn redact_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let key = self.0.as_bytes();
        if key.len() < REDACTED_FROM {
            return bytes.to_vec();
        }
        let (mut clean, mut rest) = (Vec::with_capacity(bytes.len()), bytes);
        while let Some(at) = rest.windows(key.len()).position(|part| part == key) {
            clean.extend_from_slice(&rest[..at]);
            clean.extend_from_slice(REDACTED.as_bytes());
            rest = &rest[at + key.len()..];
        }
        clean.extend_from_slice(rest);
        clean
    }

    /// Removes the key from foreign headers; a header with the key in its name is removed.
    pub(crate) fn redact_headers(&self, headers: &mut HeaderMap) {
        if self.0.len() < REDACTED_FROM {
            return;
        }
        // Header names are lower case, which would still show most of a key.
        let lower = Zeroizing::new(self.0.to_ascii_lowercase());
        let named: Vec<_> =
            headers.keys().filter(|name| name.as_str().contains(lower.as_str())).cloned().collect();
        for name in named {
            headers.remove(name);
        }
        for value in headers.values_mut() {
            let clean = self.redact_bytes(value.as_bytes());
            if clean != value.as_bytes() {
                *value = HeaderValue::from_bytes(&clean)
                    .expect("a valid value without the key is still valid");
            }
        }
    }
}

impl TryFrom<String> for ApiKey {
    type Error = ApiKeyError;
    fn try_from(text: String) -> Result<Self, ApiKeyError> {
        Self::new(Zeroizing::new(text))
    }
}

impl TryFrom<&str> for ApiKey {
    type Error = ApiKeyError;
    fn try_from(text: &str) -> Result<Self, ApiKeyError> {
        text.to_owned().try_into()
    }
}

impl FromStr for ApiKey {
    type Err = ApiKeyError;
    fn from_str(text: &str) -> Result<Self, ApiKeyError> {
        text.try_into()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

impl fmt::Display for ApiKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ApiKeyError {}

/// For functions that accept an [`ApiKey`] as well as its text.
impl From<Infallible> for ApiKeyError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_key_is_refused_by_its_problem_and_not_shown() {
        for (bad, problem) in [
            ("", "is empty"),
            ("fsk_a b", "not visible ASCII"),
            ("fsk_é", "not visible ASCII"),
            ("fsk_a\n", "U+000A"),
            ("\"fsk_a\"", "a quotation mark (\")"),
        ] {
            let error = ApiKey::try_from(bad).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains("fsk"), "{bad:?}: {error}");
        }
    }

    #[test]
    fn authorization_is_sensitive_and_debug_redacted() {
        let key = ApiKey::try_from("fsk_0123456789").unwrap();
        assert!(key.authorization().is_sensitive());
        let shown = format!("{key:?} {:?}", key.authorization());
        assert!(!shown.contains("0123"), "{shown}");
    }

    #[test]
    fn redaction_removes_every_echo_of_the_key() {
        let key = ApiKey::try_from("fsk_0123456789").unwrap();
        let echo = "no such key fsk_0123456789, fsk_0123456789!";
        let clean = "no such key [api key], [api key]!";
        assert_eq!(key.redact(echo.to_owned()), clean);
        assert_eq!(key.redact_bytes(echo.as_bytes()), clean.as_bytes());
    }

    #[test]
    fn redacted_headers_lose_only_the_key() {
        let key = ApiKey::try_from("fsk_0123456789ABC").unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("x-a", HeaderValue::from_static("Bearer fsk_0123456789ABC"));
        headers.append("x-a", HeaderValue::from_static("second"));
        headers.insert("x-b", HeaderValue::from_bytes(b"\xfffsk_0123456789ABC").unwrap());
        headers.insert("x-fsk_0123456789abc", HeaderValue::from_static("1"));
        key.redact_headers(&mut headers);
        let left: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let clean: [(_, &[u8]); 3] =
            [("x-a", b"Bearer [api key]"), ("x-a", b"second"), ("x-b", b"\xff[api key]")];
        assert_eq!(left, clean);
    }
}
