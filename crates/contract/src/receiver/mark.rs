//! The signature headers that checks send: those of the table of variants, and some more.

use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SigningSecret, sign};
use http::HeaderValue;
use secrecy::SecretString;

use crate::variant::Variant;

/// What stands in `X-Service-Signature`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// One of the table of variants.
    Of(Variant),
    /// A right one, signed by a clock that is so many seconds off.
    Off(i64),
    /// These characters, which are no signature.
    Text(&'static str),
    /// A MAC of which no digit is right.
    WrongMac,
    /// A MAC of which only the last digit is wrong.
    LastDigit,
    /// A `v0` before a right `v1`.
    OlderScheme,
    /// Unknown keys after a right `v1`.
    UnknownKeys,
}

/// What headers are made with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    pub(super) secret: &'a SecretString,
    pub(super) right: &'a SigningSecret,
}

/// Headers, and what nobody but the secret's owner can know of them.
pub(super) struct Marked {
    pub(super) values: Vec<HeaderValue>,
    /// The right MAC of what is sent, of now, in lower-case hex; none where the headers tell it.
    pub(super) hidden: Option<String>,
}

/// The second that is `off` seconds from now, such that the time on the way cannot take it over the limit
/// from where it is meant to stand.
fn second(now: Duration, off: i64) -> u64 {
    let begun = u64::from(now.subsec_nanos() > 0);
    let (floor, ceil) = (now.as_secs(), now.as_secs() + begun);
    let is_within = off.unsigned_abs() <= SIGNATURE_TOLERANCE.as_secs();
    let up = off != 0 && (off < 0) == is_within;
    (if up { ceil } else { floor }).saturating_add_signed(off)
}

impl Mark {
    /// The headers of a body that is signed at `now`, since 1970; `sent` is the body as it will arrive.
    pub(super) fn on(self, keys: Keys<'_>, now: Duration, signed: &[u8], sent: &[u8]) -> Marked {
        let time = now.as_secs();
        let values = match self {
            Self::Of(variant) => {
                variant.sign(std::slice::from_ref(keys.secret), time, signed).values().to_vec()
            }
            other => vec![other.value(keys, now, signed)],
        };
        let right = mac(keys.right, time, sent);
        let tells = |value: &HeaderValue| {
            String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase().contains(&right)
        };
        let hidden = (!values.iter().any(tells)).then_some(right);
        Marked { values, hidden }
    }

    fn value(self, keys: Keys<'_>, now: Duration, signed: &[u8]) -> HeaderValue {
        let time = now.as_secs();
        let right = mac(keys.right, time, signed);
        let text = match self {
            Self::Of(_) => String::new(),
            Self::Off(off) => sign([keys.right], second(now, off), signed),
            Self::Text(text) => text.to_owned(),
            Self::WrongMac => format!("t={time},v1={}", others(&right)),
            Self::LastDigit => {
                let (start, last) = right.split_at(right.len() - 1);
                format!("t={time},v1={start}{}", others(last))
            }
            Self::OlderScheme => format!("t={time},v0={},v1={right}", others(&right)),
            Self::UnknownKeys => format!("t={time},v1={right},x=1,alg=hmac-sha256"),
        };
        HeaderValue::try_from(text).expect("these are digits, letters and punctuation")
    }
}

/// The right MAC, in lower-case hex.
fn mac(key: &SigningSecret, time: u64, body: &[u8]) -> String {
    sign([key], time, body).rsplit('=').next().unwrap_or_default().to_owned()
}

/// As many digits, each another.
fn others(digits: &str) -> String {
    digits.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect()
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::signature::{SignatureError, verify};

    use super::*;
    use crate::variant::VARIANTS;

    const NOW: Duration = Duration::from_millis(1_700_000_000_400);
    const SECRET: &str = "whsec_right";

    fn marked(mark: Mark, signed: &[u8], sent: &[u8]) -> Marked {
        let secret: SecretString = SECRET.into();
        let right = SigningSecret::new(SECRET).unwrap();
        mark.on(Keys { secret: &secret, right: &right }, NOW, signed, sent)
    }

    fn verdict(mark: Mark) -> Result<(), SignatureError> {
        let values = marked(mark, b"{}", b"{}").values;
        let right = [SigningSecret::new(SECRET).unwrap()];
        verify(values[0].as_bytes(), b"{}", &right, NOW.as_secs(), SIGNATURE_TOLERANCE).map(drop)
    }

    #[test]
    fn each_is_what_it_says_by_the_one_verifier() {
        use SignatureError::{InFuture, Malformed, NoMatch, TooOld};
        for (mark, wanted) in [
            (Mark::Of(Variant::Fresh), Ok(())),
            (Mark::Off(-299), Ok(())),
            (Mark::Off(299), Ok(())),
            (Mark::Off(-301), Err(TooOld)),
            (Mark::Off(301), Err(InFuture)),
            (Mark::Text("garbage"), Err(Malformed)),
            (Mark::WrongMac, Err(NoMatch)),
            (Mark::LastDigit, Err(NoMatch)),
            (Mark::OlderScheme, Ok(())),
            (Mark::UnknownKeys, Ok(())),
        ] {
            assert_eq!(verdict(mark), wanted, "{mark:?}");
        }
    }

    #[test]
    fn time_on_the_way_takes_none_over_the_limit() {
        // 1_700_000_000.4 is now; no second of these is nearer to it than it says.
        let at = |off| second(NOW, off);
        assert_eq!([at(-299), at(299)], [1_700_000_001 - 299, 1_700_000_000 + 299]);
        assert_eq!([at(-301), at(301)], [1_700_000_000 - 301, 1_700_000_001 + 301]);
        assert_eq!(at(0), 1_700_000_000);
    }

    #[test]
    fn what_is_hidden_is_the_right_mac_of_what_is_sent_unless_the_headers_tell_it() {
        let own = [Mark::WrongMac, Mark::LastDigit, Mark::OlderScheme, Mark::Text("")];
        let all = VARIANTS.iter().map(|row| Mark::Of(row.variant)).chain(own);
        for mark in all {
            for sent in [&b"{}"[..], b"[]"] {
                let marked = marked(mark, b"{}", sent);
                let right = mac(&SigningSecret::new(SECRET).unwrap(), NOW.as_secs(), sent);
                let told = marked
                    .values
                    .iter()
                    .any(|value| value.to_str().unwrap().to_ascii_lowercase().contains(&right));
                assert_eq!(marked.hidden, (!told).then_some(right), "{mark:?}");
            }
        }
        assert!(marked(Mark::WrongMac, b"{}", b"{}").hidden.is_some());
        assert!(marked(Mark::Of(Variant::Fresh), b"{}", b"{}").hidden.is_none());
    }
}
