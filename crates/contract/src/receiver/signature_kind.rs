//! The signature headers of the checks: those of the table of variants, and some more.

use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SigningSecret, sign};
use http::HeaderValue;
use secrecy::SecretString;

use crate::variant::Variant;

/// The content of `X-Service-Signature`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignatureKind {
    /// A row of the table of variants.
    Variant(Variant),
    /// A valid signature by a clock that is off by this many seconds.
    ClockOffset(i64),
    /// This text, which is not a signature.
    Literal(&'static str),
    /// A MAC without a correct digit.
    WrongMac,
    /// A MAC with a wrong last digit.
    WrongLastDigit,
    /// A wrong `v0` before the valid `v1`.
    V0BeforeV1,
    /// Unknown keys after the valid `v1`.
    UnknownKeys,
}

/// The signing secret, as text and as key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    pub(super) secret: &'a SecretString,
    pub(super) key: &'a SigningSecret,
}

/// The signature headers of a request.
pub(super) struct SignatureHeaders {
    pub(super) values: Vec<HeaderValue>,
    /// The valid MAC of the sent body at the current time, as lower-case hex; `None` if a header contains
    /// it. Only the owner of the secret can know it.
    pub(super) hidden_mac: Option<String>,
}

/// Returns the second that is `offset` from `now`, rounded away from the limit of the tolerance, so that
/// the time until the receiver reads it does not move it across the limit.
fn signing_time(now: Duration, offset: i64) -> u64 {
    let has_fraction = u64::from(now.subsec_nanos() > 0);
    let (floor, ceil) = (now.as_secs(), now.as_secs() + has_fraction);
    let is_tolerated = offset.unsigned_abs() <= SIGNATURE_TOLERANCE.as_secs();
    let is_rounded_up = offset != 0 && (offset < 0) == is_tolerated;
    (if is_rounded_up { ceil } else { floor }).saturating_add_signed(offset)
}

impl SignatureKind {
    /// Creates the headers for the body `signed` at `now`, a Unix time. `sent` is the body of the request.
    pub(super) fn headers(
        self,
        keys: Keys<'_>,
        now: Duration,
        signed: &[u8],
        sent: &[u8],
    ) -> SignatureHeaders {
        let time = now.as_secs();
        let values = match self {
            Self::Variant(variant) => {
                variant.sign(std::slice::from_ref(keys.secret), time, signed).values().to_vec()
            }
            other => vec![other.value(keys.key, now, signed)],
        };
        let valid = mac(keys.key, time, sent);
        let is_sent = values.iter().any(|value| contains(value, &valid));
        SignatureHeaders { values, hidden_mac: (!is_sent).then_some(valid) }
    }

    fn value(self, key: &SigningSecret, now: Duration, signed: &[u8]) -> HeaderValue {
        let time = now.as_secs();
        let valid = mac(key, time, signed);
        let text = match self {
            Self::Variant(_) => String::new(),
            Self::ClockOffset(offset) => sign([key], signing_time(now, offset), signed),
            Self::Literal(text) => text.to_owned(),
            Self::WrongMac => format!("t={time},v1={}", wrong_digits(&valid)),
            Self::WrongLastDigit => {
                let (start, last) = valid.split_at(valid.len() - 1);
                format!("t={time},v1={start}{}", wrong_digits(last))
            }
            Self::V0BeforeV1 => format!("t={time},v0={},v1={valid}", wrong_digits(&valid)),
            Self::UnknownKeys => format!("t={time},v1={valid},x=1,alg=hmac-sha256"),
        };
        HeaderValue::try_from(text).expect("these are digits, letters and punctuation")
    }
}

fn contains(value: &HeaderValue, mac: &str) -> bool {
    String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase().contains(mac)
}

/// Returns the valid MAC, as lower-case hex.
fn mac(key: &SigningSecret, time: u64, body: &[u8]) -> String {
    sign([key], time, body).rsplit('=').next().unwrap_or_default().to_owned()
}

/// Replaces every digit by another one.
fn wrong_digits(digits: &str) -> String {
    digits.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect()
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::signature::{SignatureError, verify};

    use super::*;
    use crate::variant::VARIANTS;

    const NOW: Duration = Duration::from_millis(1_700_000_000_400);
    const SECRET: &str = "whsec_valid";

    fn headers(kind: SignatureKind, signed: &[u8], sent: &[u8]) -> SignatureHeaders {
        let secret: SecretString = SECRET.into();
        let key = SigningSecret::new(SECRET).unwrap();
        kind.headers(Keys { secret: &secret, key: &key }, NOW, signed, sent)
    }

    fn verdict(kind: SignatureKind) -> Result<(), SignatureError> {
        let values = headers(kind, b"{}", b"{}").values;
        let keys = [SigningSecret::new(SECRET).unwrap()];
        verify(values[0].as_bytes(), b"{}", &keys, NOW.as_secs(), SIGNATURE_TOLERANCE).map(drop)
    }

    #[test]
    fn verifier_judges_each_kind_as_documented() {
        use SignatureError::{InFuture, Malformed, NoMatch, TooOld};
        for (kind, wanted) in [
            (SignatureKind::Variant(Variant::Fresh), Ok(())),
            (SignatureKind::ClockOffset(-299), Ok(())),
            (SignatureKind::ClockOffset(299), Ok(())),
            (SignatureKind::ClockOffset(-301), Err(TooOld)),
            (SignatureKind::ClockOffset(301), Err(InFuture)),
            (SignatureKind::Literal("garbage"), Err(Malformed)),
            (SignatureKind::WrongMac, Err(NoMatch)),
            (SignatureKind::WrongLastDigit, Err(NoMatch)),
            (SignatureKind::V0BeforeV1, Ok(())),
            (SignatureKind::UnknownKeys, Ok(())),
        ] {
            assert_eq!(verdict(kind), wanted, "{kind:?}");
        }
    }

    #[test]
    fn signing_time_is_rounded_away_from_the_limit() {
        // `NOW` is 1_700_000_000.4: no result is closer to it than its offset.
        let at = |offset| signing_time(NOW, offset);
        assert_eq!([at(-299), at(299)], [1_700_000_001 - 299, 1_700_000_000 + 299]);
        assert_eq!([at(-301), at(301)], [1_700_000_000 - 301, 1_700_000_001 + 301]);
        assert_eq!(at(0), 1_700_000_000);
    }

    #[test]
    fn hidden_mac_is_that_of_the_sent_body_unless_a_header_has_it() {
        use SignatureKind::{Literal, V0BeforeV1, WrongLastDigit, WrongMac};
        let others = [WrongMac, WrongLastDigit, V0BeforeV1, Literal("")];
        let variants = VARIANTS.iter().map(|row| SignatureKind::Variant(row.variant));
        for kind in variants.chain(others) {
            for sent in [&b"{}"[..], b"[]"] {
                let headers = headers(kind, b"{}", sent);
                let valid = mac(&SigningSecret::new(SECRET).unwrap(), NOW.as_secs(), sent);
                let is_sent = headers
                    .values
                    .iter()
                    .any(|value| value.to_str().unwrap().to_ascii_lowercase().contains(&valid));
                assert_eq!(headers.hidden_mac, (!is_sent).then_some(valid), "{kind:?}");
            }
        }
        assert!(headers(WrongMac, b"{}", b"{}").hidden_mac.is_some());
        let fresh = SignatureKind::Variant(Variant::Fresh);
        assert!(headers(fresh, b"{}", b"{}").hidden_mac.is_none());
    }
}
