//! Signatures of webhook deliveries (SPEC §5): `X-Service-Signature: t=<unix-seconds>,v1=<hex>`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::error_text::error_text;
use crate::limits::SIGNATURES_MAX;
use crate::{SecretTextError, check_secret_text};

/// Name of the signature header, in lower case as HTTP libraries compare it.
pub const HEADER: &str = "x-service-signature";
/// Prefix of the reference service's signing secrets; part of the key.
pub const SECRET_PREFIX: &str = "whsec_";

/// The signing secret of one webhook endpoint. The dashboard shows it once, when the endpoint is added.
///
/// The complete text, including the prefix `whsec_`, is the HMAC key (SPEC §5). Conversion fails for
/// text that was damaged on its way: an empty text, quotation marks around it, invisible characters
/// such as a line feed, or fewer than [`MIN_BYTES`](Self::MIN_BYTES) bytes. The memory is overwritten
/// on drop. The text cannot be read back, and Debug does not show it.
///
/// ```
/// use formsvc_protocol::signature::SigningSecret;
/// let secret: SigningSecret = "whsec_of_an_example".parse()?;
/// assert_eq!(format!("{secret:?}"), "SigningSecret(redacted)");
/// let error = SigningSecret::try_from("\"whsec_of_an_example\"").unwrap_err();
/// assert!(error.to_string().contains("quotation mark"));
/// # Ok::<(), formsvc_protocol::SecretTextError>(())
/// ```
#[derive(Clone)]
pub struct SigningSecret(Hmac<Sha256>);

impl SigningSecret {
    /// Minimum length in bytes. The service's secrets have 49; a shorter text was cut off or can be
    /// guessed.
    pub const MIN_BYTES: usize = 16;

    /// Takes any text as the key, for services and tools that create or explain secrets; `None` if it
    /// is empty. Text that a person copied needs the checks of the conversions.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::from_text(text))
    }

    fn from_text(text: &str) -> Self {
        Self(Hmac::new_from_slice(text.as_bytes()).expect("HMAC takes a key of any length"))
    }

    fn mac(&self, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        let mac = self.0.clone().chain_update(timestamp).chain_update(b".");
        mac.chain_update(body)
    }
}

impl TryFrom<&str> for SigningSecret {
    type Error = SecretTextError;
    fn try_from(text: &str) -> Result<Self, SecretTextError> {
        check_secret_text(text)?;
        if text.len() < Self::MIN_BYTES {
            let rule = format!("has fewer than {} bytes; copy it again, complete", Self::MIN_BYTES);
            return Err(SecretTextError(rule));
        }
        Ok(Self::from_text(text))
    }
}

impl TryFrom<String> for SigningSecret {
    type Error = SecretTextError;
    fn try_from(text: String) -> Result<Self, SecretTextError> {
        // Overwrites the text on drop.
        Zeroizing::new(text).as_str().try_into()
    }
}

impl FromStr for SigningSecret {
    type Err = SecretTextError;
    fn from_str(text: &str) -> Result<Self, SecretTextError> {
        text.try_into()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(redacted)")
    }
}

/// Returns the header value for a body, signed at `unix_seconds` with each of the secrets. During a
/// rotation there are two secrets, and so two `v1`.
///
/// ```
/// use formsvc_protocol::signature::{SigningSecret, sign};
/// let secret = SigningSecret::try_from("whsec_of_an_example")?;
/// assert!(sign([&secret], 1_700_000_000, b"{}").starts_with("t=1700000000,v1="));
/// # Ok::<(), formsvc_protocol::SecretTextError>(())
/// ```
pub fn sign<'a>(
    secrets: impl IntoIterator<Item = &'a SigningSecret>,
    unix_seconds: u64,
    body: &[u8],
) -> String {
    let timestamp = unix_seconds.to_string();
    let mut header = format!("t={timestamp}");
    for secret in secrets {
        header.push_str(",v1=");
        header.push_str(&hex::encode(secret.mac(&timestamp, body).finalize().into_bytes()));
    }
    header
}

/// Why a delivery is refused. Contains no secret, no expected signature and no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// The header is not `t=<digits>,v1=<64 lower-case hex digits>[,…]`, or `t` or `v1` is missing.
    Malformed,
    /// No `v1` matches any secret.
    NoMatch,
    /// The signature matches, but is older than the tolerance.
    TooOld,
    /// The signature matches, but its time is further ahead than the tolerance.
    InFuture,
}

error_text!(SignatureError, |error| match error {
    Self::Malformed => "the signature header is malformed",
    Self::NoMatch => "no signature matches",
    Self::TooOld => "the signature is too old",
    Self::InFuture => "the signature lies in the future",
});

/// Verifies a raw body against the value of its signature header: [`SignatureHeader::parse`], then
/// [`SignatureHeader::verify`]. Returns the index of the secret that matches.
pub fn verify(
    header: &[u8],
    body: &[u8],
    secrets: &[SigningSecret],
    now_unix_seconds: u64,
    tolerance: Duration,
) -> Result<usize, SignatureError> {
    SignatureHeader::parse(header)?.verify(body, secrets, now_unix_seconds, tolerance)
}

/// A well-formed signature header that is not verified yet. Allocates no memory. Has no `Debug`,
/// because a header can be replayed.
#[derive(Clone)]
pub struct SignatureHeader<'a> {
    text: &'a str,
    /// The signed text of `t`.
    timestamp: &'a str,
    unix_seconds: u64,
}

impl<'a> SignatureHeader<'a> {
    /// Parses comma-separated `key=value`: exactly one `t` of decimal digits, and 1 to
    /// [`SIGNATURES_MAX`] `v1` of 64 lower-case hex digits. Other keys are skipped; anything else is
    /// [`SignatureError::Malformed`]. A receiver that reads a body only after this check spares
    /// itself the bodies of most invalid requests.
    pub fn parse(header: &'a [u8]) -> Result<Self, SignatureError> {
        Self::parse_parts(header).ok_or(SignatureError::Malformed)
    }

    fn parse_parts(header: &'a [u8]) -> Option<Self> {
        let text = std::str::from_utf8(header).ok()?;
        let (mut time, mut signatures) = (None, 0);
        for part in text.split(',') {
            match part.split_once('=')? {
                ("t", value) if time.is_none() => time = Some((value, decimal(value)?)),
                ("v1", value) => {
                    lower_hex(value)?;
                    signatures += 1;
                }
                ("" | "t", _) => return None,
                _ => {}
            }
        }
        let (timestamp, unix_seconds) = time?;
        let is_valid = (1..=SIGNATURES_MAX).contains(&signatures);
        is_valid.then_some(Self { text, timestamp, unix_seconds })
    }

    fn signatures(&self) -> impl Iterator<Item = [u8; 32]> {
        self.text.split(',').filter_map(|part| lower_hex(part.strip_prefix("v1=")?))
    }

    /// Checks that one of the secrets signed the body, within the tolerance. Returns the index of the
    /// secret.
    ///
    /// Every secret is compared with every `v1` in constant time, without an early exit. The time is
    /// checked last, because `t` is untrusted until a signature matches.
    pub fn verify(
        &self,
        body: &[u8],
        secrets: &[SigningSecret],
        now_unix_seconds: u64,
        tolerance: Duration,
    ) -> Result<usize, SignatureError> {
        let mut matched = None;
        for (index, secret) in secrets.iter().enumerate() {
            let mac = secret.mac(self.timestamp, body);
            for signature in self.signatures() {
                let is_match = mac.clone().verify_slice(&signature).is_ok();
                matched = matched.or(is_match.then_some(index));
            }
        }
        let secret_index = matched.ok_or(SignatureError::NoMatch)?;
        self.check_time(now_unix_seconds, tolerance)?;
        Ok(secret_index)
    }

    /// Returns the header's `t` in Unix seconds; untrusted until a signature matches.
    pub fn unix_seconds(&self) -> u64 {
        self.unix_seconds
    }

    /// Checks that `t` is within the tolerance. Proves nothing, because `t` is untrusted; but a
    /// receiver need not read the body of a request that fails here.
    pub fn check_time(
        &self,
        now_unix_seconds: u64,
        tolerance: Duration,
    ) -> Result<(), SignatureError> {
        if now_unix_seconds.abs_diff(self.unix_seconds) <= tolerance.as_secs() {
            Ok(())
        } else if self.unix_seconds < now_unix_seconds {
            Err(SignatureError::TooOld)
        } else {
            Err(SignatureError::InFuture)
        }
    }
}

/// Parses decimal digits. `parse` alone also accepts a sign.
fn decimal(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Decodes 64 lower-case hex digits.
fn lower_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(text, &mut bytes).ok()?;
    (!text.bytes().any(|byte| byte.is_ascii_uppercase())).then_some(bytes)
}

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
            assert_eq!(SigningSecret::try_from(text.to_owned()).unwrap_err(), error);
            assert!(!format!("{error} {error:?}").contains("0123"), "{error:?}");
        }
        assert!(SigningSecret::new("").is_none());
        let secret: SigningSecret = "whsec_0123456789".parse().unwrap();
        assert!(!format!("{secret:?}").contains("0123"));
    }

    #[test]
    fn only_64_bit_decimal_digits_are_a_time() {
        assert_eq!(decimal("0"), Some(0));
        assert_eq!(decimal("007"), Some(7));
        assert_eq!(decimal("18446744073709551615"), Some(u64::MAX));
        for bad in ["", "18446744073709551616", "-1", "+1", " 1", "1 ", "0x1", "1.0"] {
            assert_eq!(decimal(bad), None, "{bad}");
        }
    }

    #[test]
    fn only_64_lower_case_hex_digits_are_a_signature() {
        let digits = hex::encode((0..32).map(|n| n * 8 + 7).collect::<Vec<u8>>());
        assert_eq!(hex::encode(lower_hex(&digits).unwrap()), digits);
        for bad in ['A', 'g', ' ', '+', 'é', '\0'] {
            assert_eq!(lower_hex(&digits.replacen('f', &bad.to_string(), 1)), None, "{bad}");
        }
        for length in [0, 62, 63, 65, 66, 128] {
            assert_eq!(lower_hex(&"0".repeat(length)), None, "{length}");
        }
    }

    #[test]
    fn ninth_signature_is_malformed() {
        let part = format!(",v1={}", "0".repeat(64));
        let header = |count| format!("t=1{}", part.repeat(count));
        assert_eq!(SignatureHeader::parse(header(8).as_bytes()).unwrap().signatures().count(), 8);
        assert!(SignatureHeader::parse(header(9).as_bytes()).is_err());
        assert!(SignatureHeader::parse(header(0).as_bytes()).is_err());
    }
}
