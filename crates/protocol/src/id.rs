//! Identifiers: one type for each resource, so that a user id cannot be passed as a form id; and the
//! cursor of a list.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error_text::error_text;

/// The text is not a valid identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdError(String);

error_text!(IdError, |error| &error.0);

/// Lets one bound accept texts and ids: the conversion of an id into itself cannot fail.
impl From<Infallible> for IdError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Checks the rules of all identifiers. The specification defines no shape, so ids are opaque. NUL is
/// refused because PostgreSQL cannot store it.
fn check(kind: &'static str, text: &str) -> Result<(), IdError> {
    let rule = if text.is_empty() {
        "cannot be empty"
    } else if text.contains('\0') {
        "cannot contain NUL"
    } else {
        return Ok(());
    };
    Err(IdError(format!("a {kind} {rule}")))
}

/// Implements the conversions to text and the comparisons with text.
macro_rules! text_traits {
    ($name:ident) => {
        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0.into()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                &*self.0 == text
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                &*self.0 == *text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Implements the conversions from texts.
macro_rules! from_texts {
    ($name:ident: $($text:ty),+) => {$(
        impl TryFrom<$text> for $name {
            type Error = IdError;
            fn try_from(text: $text) -> Result<Self, IdError> {
                Self::new(&text)
            }
        }
    )+};
}

macro_rules! ids {
    ($( $(#[$meta:meta])* $name:ident, $kind:literal, $prefix:literal; )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Box<str>);

        impl $name {
            /// Prefix of the ids that the reference service generates.
            pub const PREFIX: &'static str = $prefix;

            /// Accepts any text without NUL that is not empty. It may contain spaces, slashes and
            /// control characters: encode it in a URL, and derive names of files from it.
            pub fn new(text: &str) -> Result<Self, IdError> {
                check($kind, text).map(|()| Self(text.into()))
            }

            /// Creates an id of the reference service: the prefix, then 128 bits in lower-case hex.
            pub fn from_bits(bits: [u8; 16]) -> Self {
                Self(format!("{}{}", Self::PREFIX, hex::encode(bits)).into())
            }

            /// Returns the bits of an id from [`from_bits`](Self::from_bits); `None` for other ids.
            pub fn to_bits(&self) -> Option<[u8; 16]> {
                let digits = self.0.strip_prefix(Self::PREFIX)?;
                let mut bits = [0; 16];
                // Upper-case digits decode too, but are a different id.
                let lower = !digits.bytes().any(|b| b.is_ascii_uppercase());
                hex::decode_to_slice(digits, &mut bits).ok().filter(|()| lower).map(|()| bits)
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        text_traits!($name);
        from_texts!($name: &str, String, &String);

        impl FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
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
    /// Identifier of an API key; not the key itself.
    KeyId, "key id", "key_";
    /// Identifier of a webhook endpoint.
    EndpointId, "endpoint id", "whe_";
    /// Identifier of a delivery of one submission to one endpoint.
    DeliveryId, "delivery id", "dlv_";
}

/// A position in a list (SPEC §2, `next_cursor`). Opaque text: clients store it and send it back
/// unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cursor(Box<str>);

impl Cursor {
    /// Creates a cursor without checking the text. The service answers an invalid cursor with 400
    /// `bad_request`.
    pub fn new(text: impl Into<String>) -> Self {
        let text: String = text.into();
        Self(text.into())
    }

    /// Returns the text to send.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Cursor {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

text_traits!(Cursor);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_id_has_prefix_and_returns_its_bits() {
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
    fn id_compares_and_converts_with_text() {
        let id = FormId::try_from("frm_1".to_owned()).unwrap();
        assert!(id == "frm_1" && id != *"frm_2" && id.as_ref() == "frm_1");
        assert!(std::collections::HashSet::from([id.clone()]).contains("frm_1"));
        assert_eq!(String::from(id.clone()), "frm_1");
        assert!("c".parse::<Cursor>().unwrap() == "c");
        assert_eq!(FormId::from(&id), id);
        assert!(FormId::try_from("").is_err());
    }

    #[test]
    fn any_text_without_nul_is_an_id() {
        for good in
            ["42", "q7/3=", " a b ", "..", ".", "a?b#c%2f\\", "é\u{1b}\n", &"x".repeat(9_000)]
        {
            assert_eq!(FormId::new(good).unwrap().as_str(), good);
        }
        for (bad, rule) in
            [("", "a form id cannot be empty"), ("a\0", "a form id cannot contain NUL")]
        {
            assert_eq!(FormId::new(bad).unwrap_err().to_string(), rule);
        }
    }
}
