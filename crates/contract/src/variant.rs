//! Signatures that are right in an unusual way, and wrong ones on purpose: one table.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use formsvc_protocol::signature::{SigningSecret, sign};
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use crate::mac::Keyed;
use crate::send::SIGNATURE;

/// A secret that no endpoint has.
const NOBODYS: &str = "whsec_of_nobody_at_all_0000000000000000000000000";
/// Seconds that are within the tolerance of 300, although two clocks differ by a little.
const WITHIN: u64 = 240;
/// Seconds that are outside of it, although two clocks differ by a little.
const OUTSIDE: u64 = 360;

/// What is made of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// As the service signs.
    Fresh,
    /// Old, within the tolerance.
    Old,
    /// Ahead, within the tolerance.
    Ahead,
    /// Two signatures, the right one last.
    TwoV1,
    /// Two signatures, the right one first.
    TwoV1First,
    /// A right signature beside one of a scheme that does not exist yet.
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
    /// The right MAC as `v0`.
    V0Only,
    /// Older than the tolerance.
    Stale,
    /// Further ahead than the tolerance.
    Future,
    /// A right signature of long ago, with the time of now beside it.
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

/// What a right receiver does.
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
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Refuse => "refuse",
            Self::Either => "either",
        }
    }
}

/// A row of the table of variants.
#[derive(Clone, Copy, Debug)]
pub struct VariantRow {
    /// Which.
    pub variant: Variant,
    /// Its name, which never changes.
    pub name: &'static str,
    /// What it makes.
    pub makes: &'static str,
    /// What a right receiver does with it.
    pub expect: Expect,
    /// The section of the specification that says so.
    pub section: &'static str,
    /// Why it matters: what comes of it where a receiver does otherwise.
    pub why: &'static str,
}

const fn row(
    variant: Variant,
    name: &'static str,
    expect: Expect,
    section: &'static str,
    makes: &'static str,
    why: &'static str,
) -> VariantRow {
    VariantRow { variant, name, makes, expect, section, why }
}

use Expect::{Accept, Either, Refuse};

/// Every variant there is: first what is accepted, then what is refused, then what is left open.
pub const VARIANTS: &[VariantRow] = &[
    row(
        Variant::Fresh,
        "fresh",
        Accept,
        "5",
        "a signature as the service makes it, of now",
        "nothing that the service sends arrives",
    ),
    row(
        Variant::Old,
        "old",
        Accept,
        "5",
        "a right signature of 240 seconds ago, within the tolerance of 300",
        "deliveries are lost whenever a clock is off by a little",
    ),
    row(
        Variant::Ahead,
        "ahead",
        Accept,
        "5",
        "a right signature whose time lies 240 seconds ahead, within the tolerance of 300",
        "deliveries are lost whenever this machine's clock is late by a little",
    ),
    row(
        Variant::TwoV1,
        "two-v1",
        Accept,
        "5",
        "two `v1`: one of another secret, then the right one",
        "deliveries are lost while the secret is rotated",
    ),
    row(
        Variant::TwoV1First,
        "two-v1-first",
        Accept,
        "5",
        "two `v1`: the right one, then one of another secret",
        "deliveries are lost while the secret is rotated",
    ),
    row(
        Variant::UnknownScheme,
        "unknown-scheme",
        Accept,
        "9",
        "the right `v1`, and a `v2` that does not exist yet",
        "deliveries are lost when the service adds a scheme",
    ),
    row(
        Variant::Missing,
        "missing",
        Refuse,
        "5",
        "no signature header at all",
        "anybody can send anything",
    ),
    row(
        Variant::Empty,
        "empty",
        Refuse,
        "5",
        "a signature header without a value",
        "anybody can send anything",
    ),
    row(Variant::NoT, "no-t", Refuse, "5", "a `v1` and no `t`", "what is old cannot be told"),
    row(
        Variant::NoV1,
        "no-v1",
        Refuse,
        "5",
        "a `t` and no `v1`",
        "anybody can send anything, with the time alone",
    ),
    row(
        Variant::EmptyV1,
        "empty-v1",
        Refuse,
        "5",
        "a `v1` without a digit",
        "anybody can send anything, where only the digits that are there are compared",
    ),
    row(
        Variant::V0Only,
        "v0-only",
        Refuse,
        "9",
        "the right MAC under `v0` instead of `v1`",
        "a weaker scheme could be chosen by whoever forges",
    ),
    row(
        Variant::Stale,
        "stale",
        Refuse,
        "5",
        "a right signature of 360 seconds ago",
        "who recorded a delivery can send it again for ever",
    ),
    row(
        Variant::Future,
        "future",
        Refuse,
        "5",
        "a right signature whose time lies 360 seconds ahead",
        "who recorded a delivery can keep it until it is of now",
    ),
    row(
        Variant::TwoT,
        "two-t",
        Refuse,
        "5",
        "the time of now, then the `t` and the right `v1` of 360 seconds ago",
        "what was recorded passes for new, where the age is read from one `t` and the MAC from the other",
    ),
    row(
        Variant::TamperedTime,
        "tampered-time",
        Refuse,
        "5",
        "a right `v1` of 360 seconds ago, with its `t` set to now",
        "what was recorded passes for new, where `t` is not signed along",
    ),
    row(
        Variant::Millis,
        "millis",
        Refuse,
        "5",
        "`t` in milliseconds, signed so",
        "the age is wrong by a factor of a thousand, and old deliveries pass",
    ),
    row(
        Variant::TNotANumber,
        "t-not-a-number",
        Refuse,
        "5",
        "a `t` that is a word, signed so",
        "a time that is no number compares false with everything, and nothing is too old",
    ),
    row(
        Variant::WrongSecret,
        "wrong-secret",
        Refuse,
        "5",
        "a signature made with another secret",
        "anybody can send anything",
    ),
    row(
        Variant::Tampered,
        "tampered",
        Refuse,
        "5",
        "the signature of another body, one bit away",
        "what was signed can be changed on the way",
    ),
    row(
        Variant::LineFeed,
        "line-feed",
        Refuse,
        "5",
        "the signature of the body with a line feed after it",
        "the body is judged after something has trimmed or parsed it, so not the bytes that came",
    ),
    row(
        Variant::BodyOnly,
        "body-only",
        Refuse,
        "5",
        "the MAC of the body alone, without `<t>.` before it",
        "the time is not proven, and any old body passes for new",
    ),
    row(
        Variant::Truncated,
        "truncated",
        Refuse,
        "5",
        "the first 32 digits of the right `v1`",
        "a signature is guessed sooner the fewer digits are compared",
    ),
    row(
        Variant::Base64,
        "base64",
        Refuse,
        "5",
        "the right MAC in base64 instead of hex",
        "two spellings of one signature are one more way to go wrong",
    ),
    row(
        Variant::UpperCase,
        "uppercase",
        Either,
        "5",
        "the right MAC in upper-case hex",
        "the service writes lower case; who decodes the digits takes both, and that harms nobody",
    ),
    row(
        Variant::Spaced,
        "spaced",
        Either,
        "5",
        "a space after the comma",
        "the service writes none; taking it harms nobody",
    ),
    row(
        Variant::TwoHeaders,
        "two-headers",
        Either,
        "5",
        "two signature headers, the right one last",
        "the service sends one; who refuses two cannot be shown one and judge the other",
    ),
];

/// The signature headers of a delivery: none, one or two.
#[derive(Clone)]
pub struct Signatures(Vec<HeaderValue>);

impl Signatures {
    /// The values, in order.
    pub fn values(&self) -> &[HeaderValue] {
        &self.0
    }

    /// Puts them into the headers of a delivery, in place of any there.
    pub fn put(&self, headers: &mut HeaderMap) {
        headers.remove(SIGNATURE);
        for value in &self.0 {
            headers.append(SIGNATURE, value.clone());
        }
    }
}

impl std::fmt::Debug for Signatures {
    /// Their number: a signature can be replayed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signatures({})", self.0.len())
    }
}

impl Variant {
    /// Its row.
    pub fn row(self) -> &'static VariantRow {
        VARIANTS.iter().find(|row| row.variant == self).expect("every variant has a row")
    }

    /// The variant of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        VARIANTS.iter().find(|row| row.name == name).map(|row| row.variant)
    }

    /// The signature headers of this kind for a body that stays as it is, signed at `now` with each of the
    /// secrets. Without a secret nothing can be signed, and there is no header.
    ///
    /// What is wrong is always in the header, so that the same body can go with each of them.
    pub fn sign(self, secrets: &[SecretString], now: u64, body: &[u8]) -> Signatures {
        let keys: Vec<_> = secrets.iter().filter_map(SigningSecret::new).collect();
        let Some(first) = secrets.first().filter(|_| !keys.is_empty()) else {
            return Signatures(Vec::new());
        };
        let right = |t: u64| sign(&keys, t, body);
        let keyed = Keyed::new(first.expose_secret().as_bytes());
        let raw = |t: &str| keyed.mac(&[t.as_bytes(), b".", body]);
        let digits = || hex::encode(raw(&now.to_string()));
        let before = now.saturating_sub(OUTSIDE);
        let nobodys = || hex::encode(Keyed::new(NOBODYS.as_bytes()).mac(&[body]));
        let one = match self {
            Self::Missing => return Signatures(Vec::new()),
            Self::TwoHeaders => {
                let wrong = format!("t={now},v1={}", nobodys());
                return Signatures([wrong, right(now)].into_iter().map(value).collect());
            }
            Self::Fresh => right(now),
            Self::Old => right(now.saturating_sub(WITHIN)),
            Self::Ahead => right(now.saturating_add(WITHIN)),
            Self::Stale => right(before),
            Self::Future => right(now.saturating_add(OUTSIDE)),
            Self::TwoV1 => format!("t={now},v1={},v1={}", nobodys(), digits()),
            Self::TwoV1First => format!("{},v1={}", right(now), nobodys()),
            Self::UnknownScheme => format!("{},v2={}", right(now), nobodys()),
            Self::Empty => String::new(),
            Self::NoT => format!("v1={}", digits()),
            Self::NoV1 => format!("t={now}"),
            Self::EmptyV1 => format!("t={now},v1="),
            Self::V0Only => format!("t={now},v0={}", digits()),
            Self::TwoT => format!("t={now},{}", right(before)),
            Self::TamperedTime => {
                format!("t={now},v1={}", hex::encode(raw(&before.to_string())))
            }
            Self::Millis => right(now.saturating_mul(1000)),
            Self::TNotANumber => format!("t=now,v1={}", hex::encode(raw("now"))),
            Self::WrongSecret => {
                let secret = SigningSecret::new(&NOBODYS.into());
                sign(&secret, now, body)
            }
            Self::Tampered => sign(&keys, now, &flipped(body)),
            Self::LineFeed => sign(&keys, now, &[body, b"\n"].concat()),
            Self::BodyOnly => format!("t={now},v1={}", hex::encode(keyed.mac(&[body]))),
            Self::Truncated => format!("t={now},v1={}", &digits()[..32]),
            Self::Base64 => format!("t={now},v1={}", STANDARD.encode(raw(&now.to_string()))),
            Self::UpperCase => format!("t={now},v1={}", digits().to_ascii_uppercase()),
            Self::Spaced => right(now).replace(',', ", "),
        };
        Signatures(vec![value(one)])
    }
}

/// The body with its last bit turned.
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

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use formsvc_receiver::{Verifier, signature_header};

    use super::*;

    const NOW: u64 = 1_767_225_600;
    const SECRET: &str = "whsec_1Ja0vTGXn2LQ6Zt9c4Kp8RbY3mDsWfHuEoAiPxNkVgB";
    const OLD: &str = "whsec_9zQkF5uLx7Ty2WmJr4VdNc1GsHb8PaEoI6Kt3XvRgZn";

    fn verifier(secret: &str) -> Verifier {
        let clock = || UNIX_EPOCH + Duration::from_secs(NOW);
        Verifier::builder().secret(secret.into()).clock(clock).build().unwrap()
    }

    /// The receiver of this project does with each what its row says.
    #[test]
    fn each_variant_is_taken_as_its_row_says() {
        for body in [&b"{}"[..], b"", b"\xff\n", "{\"data\":{\"Größe\":\"x\\/y\"}}".as_bytes()] {
            for secrets in [&[SECRET.into()][..], &[SECRET.into(), OLD.into()]] {
                for row in VARIANTS {
                    let made = row.variant.sign(secrets, NOW, body);
                    let header = signature_header(made.values());
                    let taken = header
                        .and_then(|header| verifier(SECRET).verify(header.as_bytes(), body))
                        .is_ok();
                    match row.expect {
                        Accept => assert!(taken, "{}", row.name),
                        Refuse | Either => assert!(!taken, "{}", row.name),
                    }
                }
            }
        }
    }

    #[test]
    fn both_secrets_of_a_rotation_verify_what_the_service_would_sign() {
        let made = Variant::Fresh.sign(&[SECRET.into(), OLD.into()], NOW, b"{}");
        for secret in [SECRET, OLD] {
            assert!(verifier(secret).verify(made.values()[0].as_bytes(), b"{}").is_ok());
        }
    }

    #[test]
    fn names_are_told_once_and_lead_back() {
        for (at, row) in VARIANTS.iter().enumerate() {
            assert_eq!(Variant::of_name(row.name), Some(row.variant));
            assert_eq!(row.variant.row().name, row.name);
            assert!(VARIANTS[..at].iter().all(|other| other.variant != row.variant));
        }
        assert_eq!(VARIANTS.len(), Variant::TwoHeaders as usize + 1);
    }

    #[test]
    fn no_variant_is_the_signature_of_another_or_needs_a_clock_that_runs() {
        let made = |row: &VariantRow| row.variant.sign(&[SECRET.into()], NOW, b"{}").0;
        for (at, row) in VARIANTS.iter().enumerate() {
            assert_eq!(made(row), made(row));
            for other in &VARIANTS[..at] {
                assert_ne!(made(row), made(other), "{} and {}", row.name, other.name);
            }
        }
        for row in VARIANTS {
            for now in [0, u64::MAX] {
                row.variant.sign(&[SECRET.into()], now, b"");
            }
            assert!(row.variant.sign(&[], NOW, b"{}").values().is_empty());
        }
    }

    #[test]
    fn they_take_the_place_of_a_header_that_is_there() {
        let mut headers = HeaderMap::from_iter([(SIGNATURE, HeaderValue::from_static("t=1"))]);
        Variant::TwoHeaders.sign(&[SECRET.into()], NOW, b"{}").put(&mut headers);
        assert_eq!(headers.get_all(SIGNATURE).iter().count(), 2);
        Variant::Missing.sign(&[SECRET.into()], NOW, b"{}").put(&mut headers);
        assert!(headers.is_empty());
    }
}
