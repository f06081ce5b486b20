//! The signature headers that checks send: right ones, and wrong ones on purpose.

use std::time::Duration;

use formsvc_protocol::limits::SIGNATURE_TOLERANCE;
use formsvc_protocol::signature::{SigningSecret, sign};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::Sha256;

/// What stands in `X-Service-Signature`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A right one of now.
    Right,
    /// A right one, signed by a clock that is so many seconds off.
    Off(i64),
    /// No header at all.
    Missing,
    /// These bytes, which are no signature.
    Text(&'static str),
    /// A right `v1` without `t`.
    NoTime,
    /// `t` alone.
    NoMac,
    /// A right MAC of a `t` that is no number.
    WordForTime,
    /// A MAC of which no digit is right.
    WrongMac,
    /// A MAC of which only the last digit is wrong.
    LastDigit,
    /// The first half of the right MAC.
    HalfMac,
    /// `v1=` and nothing.
    EmptyMac,
    /// The right MAC in upper case.
    UpperCase,
    /// A right MAC by another secret.
    OtherSecret,
    /// Two `v1`, of which the first is right.
    RightFirst,
    /// Two `v1`, of which the last is right.
    RightLast,
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
    pub(super) other: &'a SigningSecret,
}

/// A header, and what nobody but the secret's owner can know of it.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Marked {
    /// None: no header.
    pub(super) header: Option<String>,
    /// The right MAC of what is sent, in lower-case hex, where the header does not hold it.
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
    /// The header of a body that is signed at `now`, since 1970; `sent` is the body as it will arrive.
    pub(super) fn on(self, keys: Keys<'_>, now: Duration, signed: &[u8], sent: &[u8]) -> Marked {
        let time = second(now, if let Self::Off(off) = self { off } else { 0 });
        let mac_by = |key: &SigningSecret, body: &[u8]| {
            let header = sign([key], time, body);
            header.rsplit('=').next().unwrap_or_default().to_owned()
        };
        let (mac, other) = (mac_by(keys.right, signed), mac_by(keys.other, signed));
        let v1 = |v1: &str| format!("t={time},v1={v1}");
        let header = match self {
            Self::Right | Self::Off(_) => v1(&mac),
            Self::Missing => return Marked { header: None, hidden: None },
            Self::Text(text) => {
                return Marked { header: Some(text.to_owned()), hidden: None };
            }
            Self::NoTime => format!("v1={mac}"),
            Self::NoMac => format!("t={time}"),
            Self::WordForTime => {
                let mac = word_mac(keys.secret, signed);
                return Marked { header: Some(format!("t=now,v1={mac}")), hidden: None };
            }
            Self::WrongMac => v1(&mac.chars().map(another).collect::<String>()),
            Self::LastDigit => {
                let (start, last) = mac.split_at(mac.len() - 1);
                v1(&(start.to_owned() + &last.chars().map(another).collect::<String>()))
            }
            Self::HalfMac => v1(&mac[..mac.len() / 2]),
            Self::EmptyMac => v1(""),
            Self::UpperCase => v1(&mac.to_ascii_uppercase()),
            Self::OtherSecret => v1(&other),
            Self::RightFirst => format!("{},v1={other}", v1(&mac)),
            Self::RightLast => format!("{},v1={mac}", v1(&other)),
            Self::OlderScheme => format!("t={time},v0={other},v1={mac}"),
            Self::UnknownKeys => format!("{},x=1,alg=hmac-sha256", v1(&mac)),
        };
        let right = if signed == sent { mac } else { mac_by(keys.right, sent) };
        let is_told = header.to_ascii_lowercase().contains(&right);
        Marked { header: Some(header), hidden: (!is_told).then_some(right) }
    }
}

/// The MAC of a body whose `t` is the word `now`, which the service's own signer cannot be asked for.
fn word_mac(secret: &SecretString, body: &[u8]) -> String {
    let key = secret.expose_secret().as_bytes();
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(b"now.");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

/// Another hex digit.
fn another(digit: char) -> char {
    if digit == '0' { '1' } else { '0' }
}

#[cfg(test)]
mod tests {
    use formsvc_protocol::signature::{SignatureError, verify};

    use super::*;

    const NOW: Duration = Duration::from_millis(1_700_000_000_400);
    const ALL: [Mark; 17] = [
        Mark::Right,
        Mark::Off(-299),
        Mark::Missing,
        Mark::Text("garbage"),
        Mark::NoTime,
        Mark::NoMac,
        Mark::WordForTime,
        Mark::WrongMac,
        Mark::LastDigit,
        Mark::HalfMac,
        Mark::EmptyMac,
        Mark::UpperCase,
        Mark::OtherSecret,
        Mark::RightFirst,
        Mark::RightLast,
        Mark::OlderScheme,
        Mark::UnknownKeys,
    ];

    fn key(text: &str) -> SigningSecret {
        SigningSecret::new(&text.into()).unwrap()
    }

    fn marked(mark: Mark, now: Duration, signed: &[u8], sent: &[u8]) -> Marked {
        let secret = "whsec_right".into();
        let keys = Keys { secret: &secret, right: &key("whsec_right"), other: &key("whsec_other") };
        mark.on(keys, now, signed, sent)
    }

    fn verdict(mark: Mark, now: u64, sent: &[u8]) -> Option<Result<(), SignatureError>> {
        let header = marked(mark, NOW, b"{}", sent).header?;
        let right = [key("whsec_right")];
        Some(verify(header.as_bytes(), sent, &right, now, SIGNATURE_TOLERANCE).map(drop))
    }

    #[test]
    fn each_is_what_it_says_by_the_one_verifier() {
        use SignatureError::{InFuture, Malformed, NoMatch, TooOld};
        for (mark, wanted) in [
            (Mark::Right, Some(Ok(()))),
            (Mark::Off(-299), Some(Ok(()))),
            (Mark::Off(299), Some(Ok(()))),
            (Mark::Off(-301), Some(Err(TooOld))),
            (Mark::Off(301), Some(Err(InFuture))),
            (Mark::Missing, None),
            (Mark::Text("garbage"), Some(Err(Malformed))),
            (Mark::NoTime, Some(Err(Malformed))),
            (Mark::NoMac, Some(Err(Malformed))),
            (Mark::WordForTime, Some(Err(Malformed))),
            (Mark::WrongMac, Some(Err(NoMatch))),
            (Mark::LastDigit, Some(Err(NoMatch))),
            (Mark::HalfMac, Some(Err(Malformed))),
            (Mark::EmptyMac, Some(Err(Malformed))),
            (Mark::UpperCase, Some(Err(Malformed))),
            (Mark::OtherSecret, Some(Err(NoMatch))),
            (Mark::RightFirst, Some(Ok(()))),
            (Mark::RightLast, Some(Ok(()))),
            (Mark::OlderScheme, Some(Ok(()))),
            (Mark::UnknownKeys, Some(Ok(()))),
        ] {
            assert_eq!(verdict(mark, 1_700_000_000, b"{}"), wanted, "{mark:?}");
        }
        assert_eq!(verdict(Mark::Right, 1_700_000_000, b"[]"), Some(Err(NoMatch)));
    }

    #[test]
    fn half_a_second_on_the_way_takes_none_over_the_limit() {
        let off = |mark| match marked(mark, NOW, b"{}", b"{}").header {
            Some(header) => {
                let time = header.split([',', '=']).nth(1).unwrap().parse::<f64>().unwrap();
                time - NOW.as_secs_f64()
            }
            None => panic!("{mark:?} has a header"),
        };
        assert!(off(Mark::Off(-299)) >= -299.0 && off(Mark::Off(299)) <= 299.0);
        assert!(off(Mark::Off(-301)) <= -301.0 && off(Mark::Off(301)) >= 301.0);
        assert!((-1.0..=0.0).contains(&off(Mark::Right)));
    }

    #[test]
    fn what_is_hidden_is_the_right_mac_of_what_is_sent_and_not_in_the_header() {
        for sent in [&b"{}"[..], b"[]"] {
            let right = marked(Mark::Right, NOW, sent, sent).header.unwrap();
            let right = right.rsplit('=').next().unwrap();
            for mark in ALL {
                let marked = marked(mark, NOW, b"{}", sent);
                let header = marked.header.unwrap_or_default().to_ascii_lowercase();
                match marked.hidden {
                    Some(hidden) => assert!(!header.contains(&hidden), "{mark:?}"),
                    None => assert!(
                        !header.contains("t=17") || header.contains(right),
                        "{mark:?} {header}"
                    ),
                }
            }
        }
        let hidden = marked(Mark::WrongMac, NOW, b"{}", b"[]").hidden.unwrap();
        let right = marked(Mark::Right, NOW, b"[]", b"[]").header.unwrap();
        assert!(right.ends_with(&hidden));
    }
}
