//! The signing secret of a webhook endpoint.

use std::fmt;
use std::str::FromStr;

use formsvc_protocol::signature::SigningSecret as SigningKey;
use formsvc_protocol::{SecretTextError, check_secret_text};
use secrecy::{ExposeSecret, SecretString};

/// The signing secret of one webhook endpoint. The dashboard shows it once, when the endpoint is added.
///
/// The complete text, including the prefix `whsec_`, is the HMAC key (SPEC §5). Conversion fails for
/// text that was damaged on its way: an empty text, quotation marks around it, invisible characters
/// such as a line feed, or fewer than [`MIN_BYTES`](Self::MIN_BYTES) bytes. The memory is overwritten
/// on drop, and Debug does not show the text.
///
/// ```
/// use formsvc_receiver::SigningSecret;
/// let secret: SigningSecret = "whsec_of_an_example".parse()?;
/// assert_eq!(format!("{secret:?}"), "SigningSecret(redacted)");
/// let error = SigningSecret::try_from("\"whsec_of_an_example\"").unwrap_err();
/// assert!(error.to_string().contains("quotation mark"));
/// # Ok::<(), formsvc_receiver::SecretError>(())
/// ```
#[derive(Clone)]
pub struct SigningSecret(SecretString);

impl SigningSecret {
    /// Minimum length in bytes. The service's secrets have 49; a shorter text was cut off or can be
    /// guessed.
    pub const MIN_BYTES: usize = 16;

    fn new(secret: SecretString) -> Result<Self, SecretError> {
        let text = secret.expose_secret();
        check_secret_text(text).map_err(|error| SecretError(Problem::Text(error)))?;
        if text.len() < Self::MIN_BYTES {
            return Err(SecretError(Problem::TooShort));
        }
        Ok(Self(secret))
    }

    pub(crate) fn to_key(&self) -> SigningKey {
        SigningKey::new(&self.0).expect("the text is not empty, `new` checks it")
    }
}

impl TryFrom<String> for SigningSecret {
    type Error = SecretError;
    fn try_from(text: String) -> Result<Self, SecretError> {
        Self::new(text.into())
    }
}

impl TryFrom<&str> for SigningSecret {
    type Error = SecretError;
    fn try_from(text: &str) -> Result<Self, SecretError> {
        Self::new(text.into())
    }
}

impl FromStr for SigningSecret {
    type Err = SecretError;
    fn from_str(text: &str) -> Result<Self, SecretError> {
        text.try_into()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(redacted)")
    }
}

/// A text that cannot be a signing secret. Never contains the text.
///
/// Display is a fragment that completes a sentence about the secret: "the signing secret *is empty*".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretError(Problem);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    Text(SecretTextError),
    TooShort,
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Problem::Text(error) => error.fmt(f),
            Problem::TooShort => {
                let min = SigningSecret::MIN_BYTES;
                write!(f, "has fewer than {min} bytes; copy it again, complete")
            }
        }
    }
}

impl std::error::Error for SecretError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_secret_is_refused_with_the_problem() {
        for (text, problem) in [
            ("", "is empty"),
            ("'whsec_0123456789'", "quotation mark"),
            ("whsec_0123456789\n", "U+000A"),
            ("whsec_0123456789\u{200b}", "U+200B"),
            ("\u{feff}whsec_0123456789", "U+FEFF"),
            ("whsec_", "fewer than 16 bytes"),
            ("whsec_012345678", "fewer than 16 bytes"),
        ] {
            let error = SigningSecret::try_from(text).unwrap_err();
            assert!(error.to_string().contains(problem), "{text:?}: {error}");
            let owned = SigningSecret::try_from(text.to_owned()).unwrap_err();
            assert_eq!(owned, error);
            assert!(!format!("{error} {error:?}").contains("0123"), "{error:?}");
        }
    }

    #[test]
    fn secret_is_not_in_debug() {
        let secret: SigningSecret = "whsec_0123456789".parse().unwrap();
        assert!(!format!("{secret:?}").contains("0123"));
    }
}
