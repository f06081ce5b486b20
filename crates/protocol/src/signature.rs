//! Signatures of webhook deliveries (SPEC §5): `X-Service-Signature: t=<unix-seconds>,v1=<hex>`.

use std::time::Duration;

use hmac::digest::CtOutput;
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

    fn mac(&self, timestamp: &[u8], body: &[u8]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        mac.update(timestamp);
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
        let mac = secret.mac(timestamp.as_bytes(), body).finalize().into_bytes();
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

/// A signature that matches one of the secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureMatch {
    /// The header's `t`.
    pub unix_seconds: u64,
    /// Index of the secret that matches.
    pub secret_index: usize,
}

/// Verifies a raw body against the value of its signature header: [`SignatureHeader::parse`], then
/// [`SignatureHeader::verify`].
pub fn verify(
    header: &[u8],
    body: &[u8],
    secrets: &[SigningSecret],
    now_unix_seconds: u64,
    tolerance: Duration,
) -> Result<SignatureMatch, SignatureError> {
    SignatureHeader::parse(header)?.verify(body, secrets, now_unix_seconds, tolerance)
}

/// A well-formed signature header, of which nothing is proven yet: `t` as the text that is signed,
/// and the `v1` values. Borrows the header and allocates nothing. Has no `Debug`, since a header can be replayed.
#[derive(Clone)]
pub struct SignatureHeader<'a> {
    timestamp: &'a [u8],
    unix_seconds: u64,
    signatures: [[u8; 32]; SIGNATURES_MAX],
    count: usize,
}

impl<'a> SignatureHeader<'a> {
    /// Comma-separated `key=value`; exactly one `t` of decimal digits; 1 to [`SIGNATURES_MAX`] `v1`
    /// of 64 lower-case hex digits; other keys are skipped; anything else is
    /// [`SignatureError::Malformed`]. Whoever reads a body only for a header that passes here spares
    /// itself the bodies of most strangers.
    pub fn parse(header: &'a [u8]) -> Result<Self, SignatureError> {
        std::str::from_utf8(header).map_err(|_| SignatureError::Malformed)?;
        let mut timestamp = None;
        let (mut signatures, mut count) = ([[0; 32]; SIGNATURES_MAX], 0);
        for part in parts(header) {
            let at = part.iter().position(|byte| *byte == b'=');
            let (key, value) = part.split_at(at.ok_or(SignatureError::Malformed)?);
            let value = &value[1..];
            match key {
                b"t" => {
                    let seconds = decimal(value).ok_or(SignatureError::Malformed)?;
                    if timestamp.replace((value, seconds)).is_some() {
                        return Err(SignatureError::Malformed);
                    }
                }
                b"v1" => {
                    let place = signatures.get_mut(count).ok_or(SignatureError::Malformed)?;
                    *place = lower_hex(value).ok_or(SignatureError::Malformed)?;
                    count += 1;
                }
                b"" => return Err(SignatureError::Malformed),
                _ => {}
            }
        }
        let (timestamp, unix_seconds) = timestamp.ok_or(SignatureError::Malformed)?;
        if count == 0 {
            return Err(SignatureError::Malformed);
        }
        Ok(Self { timestamp, unix_seconds, signatures, count })
    }

    /// Whether one of the secrets signed the body, within the tolerance.
    ///
    /// Every secret is compared with every `v1`, without an early exit; the age is judged only once
    /// the signature is known to be right, since until then `t` is a stranger's word.
    pub fn verify(
        &self,
        body: &[u8],
        secrets: &[SigningSecret],
        now_unix_seconds: u64,
        tolerance: Duration,
    ) -> Result<SignatureMatch, SignatureError> {
        let mut matched = None;
        for (index, secret) in secrets.iter().enumerate() {
            // Equality of such outputs takes the same time wherever they differ.
            let expected = secret.mac(self.timestamp, body).finalize();
            let mut is_one_of_them = false;
            for signature in &self.signatures[..self.count] {
                is_one_of_them |= expected == CtOutput::new((*signature).into());
            }
            if is_one_of_them && matched.is_none() {
                matched = Some(index);
            }
        }
        let secret_index = matched.ok_or(SignatureError::NoMatch)?;
        self.check_time(now_unix_seconds, tolerance)?;
        Ok(SignatureMatch { unix_seconds: self.unix_seconds, secret_index })
    }

    /// The header's `t`, in Unix seconds: a stranger's word until the signature is known to be right.
    pub fn unix_seconds(&self) -> u64 {
        self.unix_seconds
    }

    /// Whether `t` is within the tolerance, which proves nothing: until the signature is known to be right,
    /// `t` is a stranger's word. But what fails here is refused whatever its body, which need not be read.
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

/// What stands between commas. As `split` does it, but many bytes at once: byte by byte this was 3 % of
/// what verifying a small body takes.
fn parts(header: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(header);
    std::iter::from_fn(move || {
        let text = rest?;
        let comma = memchr::memchr(b',', text);
        rest = comma.map(|at| &text[at + 1..]);
        Some(&text[..comma.unwrap_or(text.len())])
    })
}

/// The number that decimal digits mean; `None` for anything else, or a number over 64 bits.
fn decimal(digits: &[u8]) -> Option<u64> {
    let add = |number: u64, digit: &u8| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    };
    digits.iter().try_fold(0, add).filter(|_| !digits.is_empty())
}

/// The bytes that 64 lower-case hex digits mean. Without a branch or a table, so that many digits are read at
/// once: with a table this was a tenth of what verifying a small body takes.
fn lower_hex(digits: &[u8]) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = digits.try_into().ok()?;
    let values = digits.map(|digit| {
        let (decimal, letter) = (digit.wrapping_sub(b'0'), digit.wrapping_sub(b'a'));
        match (decimal <= 9, letter <= 5) {
            (true, _) => decimal,
            (false, true) => letter + 10,
            (false, false) => u8::MAX,
        }
    });
    let is_bad = values.iter().fold(0, |all, value| all | value) > 0xf;
    let (pairs, _) = values.as_chunks::<2>();
    let mut bytes = [0; 32];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = high << 4 | low & 0xf;
    }
    (!is_bad).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_up_to_the_largest_number() {
        assert_eq!(decimal(b"0"), Some(0));
        assert_eq!(decimal(b"007"), Some(7));
        assert_eq!(decimal(b"18446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"18446744073709551616", b"-1", b"+1", b" 1", b"1 ", b"0x1", b"1.0"] {
            assert_eq!(decimal(bad), None, "{}", bad.escape_ascii());
        }
    }

    #[test]
    fn parts_are_those_that_split_finds() {
        for header in ["", ",", "t=1", "t=1,", ",t=1", "t=1,v1=ab,,v1=cd", ",,,"] {
            let header = header.as_bytes();
            assert!(
                parts(header).eq(header.split(|byte| *byte == b',')),
                "{}",
                header.escape_ascii()
            );
        }
    }

    #[test]
    fn hex_is_lower_case_and_of_the_one_length() {
        let digits = hex::encode((0..32).map(|n| n * 8 + 7).collect::<Vec<u8>>());
        assert_eq!(hex::encode(lower_hex(digits.as_bytes()).unwrap()), digits);
        for at in 0..64 {
            for byte in 0..=u8::MAX {
                let mut digits = [b'0'; 64];
                digits[at] = byte;
                let is_digit = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                assert_eq!(lower_hex(&digits).is_some(), is_digit, "{byte} at {at}");
            }
        }
        for length in [0, 1, 62, 63, 65, 66, 128] {
            assert_eq!(lower_hex(&vec![b'0'; length]), None, "{length}");
        }
    }

    #[test]
    fn a_ninth_signature_is_malformed() {
        let part = format!(",v1={}", "0".repeat(64));
        let header = |count| format!("t=1{}", part.repeat(count));
        assert_eq!(SignatureHeader::parse(header(8).as_bytes()).unwrap().count, 8);
        assert!(SignatureHeader::parse(header(9).as_bytes()).is_err());
        assert!(SignatureHeader::parse(header(0).as_bytes()).is_err());
    }
}
