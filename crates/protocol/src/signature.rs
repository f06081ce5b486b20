//! Signatures of webhook deliveries (SPEC §5): `X-Service-Signature: t=<unix-seconds>,v1=<hex>`.

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

use crate::limits::SIGNATURES_MAX;

/// Name of the signature header, in lower case as HTTP libraries compare it.
pub const HEADER: &str = "x-service-signature";
/// How the reference service's signing secrets begin; the whole text, prefix included, is the key.
pub const SECRET_PREFIX: &str = "whsec_";

/// Length of a header with one signature, this side of the year 2286.
const HEADER_USUAL: usize = "t=1700000000,v1=".len() + 64;

/// A signing secret, keyed once. Its text cannot be read back or printed.
#[derive(Clone)]
pub struct SigningSecret {
    keyed: Hmac<Sha256>,
}

impl SigningSecret {
    /// Takes the whole text of the secret as the key; `None` when it is empty.
    pub fn new(secret: &SecretString) -> Option<Self> {
        let text = secret.expose_secret();
        let keyed = Hmac::new_from_slice(text.as_bytes()).expect("HMAC takes a key of any length");
        (!text.is_empty()).then_some(Self { keyed })
    }

    fn mac(&self, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(timestamp.as_bytes());
        mac.update(b".");
        mac.update(body);
        mac
    }
}

impl std::fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningSecret(redacted)")
    }
}

/// The header value for a body, signed at `unix_seconds` with each of the secrets. During a
/// rotation there are two, and so two `v1`.
///
/// ```
/// use formsvc_protocol::signature::{SigningSecret, sign};
/// let secret = SigningSecret::new(&"whsec_example".into()).unwrap();
/// assert!(sign([&secret], 1_700_000_000, b"{}").starts_with("t=1700000000,v1="));
/// ```
pub fn sign<'a>(
    secrets: impl IntoIterator<Item = &'a SigningSecret>,
    unix_seconds: u64,
    body: &[u8],
) -> String {
    let timestamp = unix_seconds.to_string();
    let mut header = String::with_capacity(HEADER_USUAL);
    header.push_str("t=");
    header.push_str(&timestamp);
    for secret in secrets {
        let mac = secret.mac(&timestamp, body).finalize().into_bytes();
        let mut digits = [0; 64];
        hex::encode_to_slice(mac, &mut digits).expect("two digits a byte");
        header.push_str(",v1=");
        header.push_str(std::str::from_utf8(&digits).expect("digits are text"));
    }
    header
}

/// Why a delivery is refused. Never holds the secret, the expected signature or the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// The header is not `t=<digits>,v1=<64 lower-case hex digits>[,…]`, or `t` or `v1` is missing.
    Malformed,
    /// No `v1` matches any secret.
    NoMatch,
    /// The signature is right, but older than the tolerance.
    TooOld,
    /// The signature is right, but its time lies further ahead than the tolerance.
    InFuture,
}

impl std::fmt::Display for SignatureError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the signature header is malformed",
            Self::NoMatch => "no signature matches",
            Self::TooOld => "the signature is too old",
            Self::InFuture => "the signature lies in the future",
        })
    }
}

impl std::error::Error for SignatureError {}

/// What verification found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The header's `t`.
    pub unix_seconds: u64,
    /// Which of the secrets matched, by its place in the list given.
    pub secret_index: usize,
}

/// Verifies a raw body against the value of its signature header.
///
/// Every secret is compared with every `v1`, without an early exit; the age is judged only once the
/// signature is known to be right, since until then `t` is a stranger's word.
pub fn verify(
    header: &[u8],
    body: &[u8],
    secrets: &[SigningSecret],
    now_unix_seconds: u64,
    tolerance: Duration,
) -> Result<Verified, SignatureError> {
    let Header { timestamp, unix_seconds, signatures } = Header::parse(header)?;
    let mut matched = None;
    for (index, secret) in secrets.iter().enumerate() {
        let mac = secret.mac(timestamp, body);
        for signature in &signatures {
            if mac.clone().verify_slice(signature).is_ok() && matched.is_none() {
                matched = Some(index);
            }
        }
    }
    let secret_index = matched.ok_or(SignatureError::NoMatch)?;
    if now_unix_seconds.abs_diff(unix_seconds) <= tolerance.as_secs() {
        Ok(Verified { unix_seconds, secret_index })
    } else if unix_seconds < now_unix_seconds {
        Err(SignatureError::TooOld)
    } else {
        Err(SignatureError::InFuture)
    }
}

/// The header's parts: `t` as the text that was signed, and the decoded `v1` values.
struct Header<'a> {
    timestamp: &'a str,
    unix_seconds: u64,
    signatures: Vec<[u8; 32]>,
}

impl<'a> Header<'a> {
    /// Comma-separated `key=value`; exactly one `t` of decimal digits; 1 to 8 `v1` of 64 lower-case
    /// hex digits; other keys are skipped; anything else is malformed.
    fn parse(header: &'a [u8]) -> Result<Self, SignatureError> {
        let text = std::str::from_utf8(header).map_err(|_| SignatureError::Malformed)?;
        let (mut timestamp, mut signatures) = (None, Vec::new());
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or(SignatureError::Malformed)?;
            match key {
                "t" => {
                    let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
                    let seconds = value.parse().ok().filter(|_| digits);
                    let seconds: u64 = seconds.ok_or(SignatureError::Malformed)?;
                    if timestamp.replace((value, seconds)).is_some() {
                        return Err(SignatureError::Malformed);
                    }
                }
                "v1" => {
                    let mut mac = [0; 32];
                    let lower = !value.bytes().any(|b| b.is_ascii_uppercase());
                    let decoded = hex::decode_to_slice(value, &mut mac).is_ok();
                    if !lower || !decoded || signatures.len() == SIGNATURES_MAX {
                        return Err(SignatureError::Malformed);
                    }
                    signatures.push(mac);
                }
                "" => return Err(SignatureError::Malformed),
                _ => {}
            }
        }
        let (timestamp, unix_seconds) = timestamp.ok_or(SignatureError::Malformed)?;
        if signatures.is_empty() {
            return Err(SignatureError::Malformed);
        }
        Ok(Self { timestamp, unix_seconds, signatures })
    }
}
