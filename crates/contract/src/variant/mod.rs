//! Signatures that are valid but unusual, and invalid ones for tests of receivers.

mod table;
#[cfg(test)]
mod tests;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SigningSecret, sign};
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::mac::Keyed;
use crate::send::SIGNATURE;

pub use self::table::{VARIANTS, VariantRow};

/// A secret that no endpoint has.
const OTHER_SECRET: &str = "whsec_of_no_endpoint_000000000000000000000000000";
/// Seconds within the tolerance, with a margin for different clocks.
const WITHIN: u64 = 240;
/// Seconds outside the tolerance, with a margin for different clocks.
const OUTSIDE: u64 = 360;
/// Digits of a truncated signature.
const HALF_OF_DIGITS: usize = 32;

const _: () = {
    let tolerance = SIGNATURE_TOLERANCE.as_secs();
    assert!(WITHIN < tolerance && OUTSIDE > tolerance);
};

/// A kind of signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// As the service signs.
    Fresh,
    /// Old, within the tolerance.
    Old,
    /// Ahead, within the tolerance.
    Ahead,
    /// Two signatures, the valid one last.
    TwoV1,
    /// Two signatures, the valid one first.
    TwoV1First,
    /// A valid signature beside one of a later scheme.
    UnknownScheme,
    /// No header.
    Missing,
    /// An empty header.
    Empty,
    /// No `t`.
    NoT,
    /// No `v1`.
    NoV1,
    /// An empty `v1`.
    EmptyV1,
    /// The valid MAC as `v0`.
    V0Only,
    /// Older than the tolerance.
    Stale,
    /// Further ahead than the tolerance.
    Future,
    /// The current time, then an old valid signature.
    TwoT,
    /// `t` changed after signing.
    TamperedTime,
    /// `t` in milliseconds.
    Millis,
    /// `t` is a word.
    TNotANumber,
    /// Made with another secret.
    WrongSecret,
    /// Over another body.
    Tampered,
    /// Over the body with a line feed.
    LineFeed,
    /// Over the body alone.
    BodyOnly,
    /// Half of the digits.
    Truncated,
    /// In base64.
    Base64,
    /// In upper-case hex.
    UpperCase,
    /// With a space after the comma.
    Spaced,
    /// Two headers.
    TwoHeaders,
}

/// The behaviour of a correct receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Expect {
    /// It accepts the delivery: 2xx.
    Accept,
    /// It refuses it: any other status (SPEC §7).
    Refuse,
    /// The specification leaves it open.
    Either,
}

impl Expect {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Refuse => "refuse",
            Self::Either => "either",
        }
    }
}

/// The signature headers of a delivery: none, one or two.
#[derive(Clone)]
pub struct Signatures(Vec<HeaderValue>);

impl Signatures {
    /// Returns the values, in order.
    pub fn values(&self) -> &[HeaderValue] {
        &self.0
    }

    /// Replaces the signature headers of a delivery.
    pub fn put(&self, headers: &mut HeaderMap) {
        headers.remove(SIGNATURE);
        for value in &self.0 {
            headers.append(SIGNATURE, value.clone());
        }
    }
}

impl std::fmt::Debug for Signatures {
    /// Prints only their number: a signature can be replayed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signatures({})", self.0.len())
    }
}

impl Variant {
    /// Returns its row.
    pub fn row(self) -> &'static VariantRow {
        VARIANTS.iter().find(|row| row.variant == self).expect("every variant has a row")
    }

    /// Returns the variant with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        VARIANTS.iter().find(|row| row.name == name).map(|row| row.variant)
    }

    /// Creates the signature headers of this kind for a body, signed at `now` with each of the secrets.
    /// Without secrets there is no header. Only the header differs between variants, never the body.
    pub fn sign(self, secrets: &[SecretString], now: u64, body: &[u8]) -> Signatures {
        let keys: Vec<_> = secrets
            .iter()
            .filter_map(|secret| SigningSecret::new(secret.expose_secret()))
            .collect();
        let Some(first) = secrets.first().filter(|_| !keys.is_empty()) else {
            return Signatures(Vec::new());
        };
        let valid = |t: u64| sign(&keys, t, body);
        let keyed = Keyed::new(first.expose_secret().as_bytes());
        let raw = |t: &str| keyed.mac(&[t.as_bytes(), b".", body]);
        let digits = || hex::encode(raw(&now.to_string()));
        let before = now.saturating_sub(OUTSIDE);
        let other_mac = || hex::encode(Keyed::new(OTHER_SECRET.as_bytes()).mac(&[body]));
        let one = match self {
            Self::Missing => return Signatures(Vec::new()),
            Self::TwoHeaders => {
                let wrong = format!("t={now},v1={}", other_mac());
                return Signatures([wrong, valid(now)].into_iter().map(value).collect());
            }
            Self::Fresh => valid(now),
            Self::Old => valid(now.saturating_sub(WITHIN)),
            Self::Ahead => valid(now.saturating_add(WITHIN)),
            Self::Stale => valid(before),
            Self::Future => valid(now.saturating_add(OUTSIDE)),
            Self::TwoV1 => format!("t={now},v1={},v1={}", other_mac(), digits()),
            Self::TwoV1First => format!("{},v1={}", valid(now), other_mac()),
            Self::UnknownScheme => format!("{},v2={}", valid(now), other_mac()),
            Self::Empty => String::new(),
            Self::NoT => format!("v1={}", digits()),
            Self::NoV1 => format!("t={now}"),
            Self::EmptyV1 => format!("t={now},v1="),
            Self::V0Only => format!("t={now},v0={}", digits()),
            Self::TwoT => format!("t={now},{}", valid(before)),
            Self::TamperedTime => {
                format!("t={now},v1={}", hex::encode(raw(&before.to_string())))
            }
            Self::Millis => valid(now.saturating_mul(1000)),
            Self::TNotANumber => format!("t=now,v1={}", hex::encode(raw("now"))),
            Self::WrongSecret => {
                let secret = SigningSecret::new(OTHER_SECRET);
                sign(&secret, now, body)
            }
            Self::Tampered => sign(&keys, now, &flipped(body)),
            Self::LineFeed => sign(&keys, now, &[body, b"\n"].concat()),
            Self::BodyOnly => format!("t={now},v1={}", hex::encode(keyed.mac(&[body]))),
            Self::Truncated => format!("t={now},v1={}", &digits()[..HALF_OF_DIGITS]),
            Self::Base64 => format!("t={now},v1={}", STANDARD.encode(raw(&now.to_string()))),
            Self::UpperCase => format!("t={now},v1={}", digits().to_ascii_uppercase()),
            Self::Spaced => valid(now).replace(',', ", "),
        };
        Signatures(vec![value(one)])
    }
}

/// Returns the body with its last bit inverted.
fn flipped(body: &[u8]) -> Vec<u8> {
    let mut other = body.to_vec();
    match other.last_mut() {
        Some(last) => *last ^= 1,
        None => other.push(b'{'),
    }
    other
}

fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("these are digits, letters and punctuation")
}
