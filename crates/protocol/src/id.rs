//! Identifiers: one type each, so that a user id cannot be passed where a form id is meant.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest identifier accepted, in bytes.
const MAX_LEN: usize = 128;

/// The text cannot be an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdError {
    kind: &'static str,
    rule: &'static str,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {} {}", self.kind, self.rule)
    }
}

impl std::error::Error for IdError {}

/// The rules every identifier obeys. The specification gives ids no form, so anything that can
/// stand in a path segment is accepted; our own ids carry a prefix.
fn check(kind: &'static str, text: &str) -> Result<(), IdError> {
    if is_plain(text) {
        return Ok(());
    }
    let rule = if text.is_empty() {
        "cannot be empty"
    } else if text.len() > MAX_LEN {
        "has at most 128 bytes"
    } else if text == "." || text == ".." {
        "cannot be a path step"
    } else if text.chars().any(|c| c.is_control() || c.is_whitespace() || "/\\?#%".contains(c)) {
        "has no spaces, control characters, or any of / \\ ? # %"
    } else {
        return Ok(());
    };
    Err(IdError { kind, rule })
}

/// Whether an id needs no closer look, which nearly none does. Looks at every byte whatever it
/// finds, which the compiler turns into a few wide instructions.
fn is_plain(text: &str) -> bool {
    let plain = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'-');
    (1..=MAX_LEN).contains(&text.len()) && text.bytes().fold(true, |all, byte| all & plain(byte))
}

macro_rules! ids {
    ($( $(#[$meta:meta])* $name:ident, $kind:literal, $prefix:literal; )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// How ids made by the reference service begin.
            pub const PREFIX: &'static str = $prefix;

            /// Takes any text that can stand in a path segment: 1 to 128 bytes, no spaces, control
            /// characters or any of `/ \ ? # %`.
            pub fn new(text: &str) -> Result<Self, IdError> {
                Self::check(text).map(|()| Self(text.into()))
            }

            /// Whether [`new`](Self::new) would take the text, without keeping it.
            pub fn check(text: &str) -> Result<(), IdError> {
                check($kind, text)
            }

            /// The reference service's form of an id: the prefix, then 128 bits in lower-case hex.
            pub fn from_bits(bits: [u8; 16]) -> Self {
                let mut digits = [0; 32];
                hex::encode_to_slice(bits, &mut digits).expect("two digits a byte");
                let digits = std::str::from_utf8(&digits).expect("digits are text");
                Self([Self::PREFIX, digits].concat().into())
            }

            /// The bits of an id made by [`from_bits`](Self::from_bits); `None` for any other id.
            pub fn to_bits(&self) -> Option<[u8; 16]> {
                let digits = self.0.strip_prefix(Self::PREFIX)?;
                let mut bits = [0; 16];
                // Upper-case digits would decode too, but are a different id.
                let lower = digits.bytes().fold(true, |all, b| all & !b.is_ascii_uppercase());
                hex::decode_to_slice(digits, &mut bits).ok().filter(|()| lower).map(|()| bits)
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(&text).map_err(serde::de::Error::custom)
            }
        }
    )+};
}

ids! {
    /// Identifier of a user.
    UserId, "user id", "usr_";
    /// Identifier of a form, as used in API paths.
    FormId, "form id", "frm_";
    /// Identifier of a form in its public address `/f/<public_id>`.
    PublicId, "public id", "";
    /// Identifier of a submission; the idempotency key of its webhook deliveries (SPEC §6).
    SubmissionId, "submission id", "sub_";
    /// Identifier of an API key, which names it without being it.
    KeyId, "key id", "key_";
    /// Identifier of a webhook endpoint.
    EndpointId, "endpoint id", "whe_";
    /// Identifier of a delivery: one submission on its way to one endpoint.
    DeliveryId, "delivery id", "dlv_";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_ids_carry_their_prefix_and_give_their_bits_back() {
        let bits = *b"0123456789abcdef";
        let id = SubmissionId::from_bits(bits);
        assert_eq!(id.as_str(), "sub_30313233343536373839616263646566");
        assert_eq!(id.to_bits(), Some(bits));
        assert_eq!(SubmissionId::new("SUB_1").unwrap().to_bits(), None);
        assert_eq!(
            SubmissionId::new(&id.as_str().replace('a', "A")).unwrap().to_bits(),
            Some(bits)
        );
        let upper = SubmissionId::from_bits([0xab; 16]).as_str().replace("ab", "AB");
        assert_eq!(SubmissionId::new(&upper).unwrap().to_bits(), None);
    }

    #[test]
    fn ids_of_other_deployments_are_accepted_unless_they_could_change_a_path() {
        for good in ["42", "a.b~c", "é", "0190a0b0-0000-7000-8000-000000000000", "...", "a+b=c"] {
            assert_eq!(FormId::new(good).unwrap().as_str(), good);
        }
        for bad in ["", " ", "a b", "a/b", "..", ".", "a?b", "a#b", "a%2fb", "a\u{0}", "a\\b"] {
            assert!(FormId::new(bad).is_err(), "{bad:?}");
        }
        assert!(FormId::new(&"x".repeat(128)).is_ok());
        assert!(FormId::new(&"x".repeat(129)).is_err());
    }

    #[test]
    fn every_single_character_is_judged_by_the_rules() {
        for c in '\0'..='\u{2fff}' {
            let bad = c == '.' || "/\\?#%".contains(c) || c.is_control() || c.is_whitespace();
            assert_eq!(SubmissionId::check(c.encode_utf8(&mut [0; 4])).is_err(), bad, "{c:?}");
        }
    }
}
