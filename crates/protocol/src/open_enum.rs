//! Enums of known strings that keep unknown values of the wire instead of refusing them.

/// Declares an enum of known strings plus `Other`, whose text is private.
///
/// The text of an unknown value is available through `as_str()` of the enum only, so that a later release
/// can add a variant for it without changing the meaning of a user's `match`.
macro_rules! open_enum {
    (
        $(#[$meta:meta])*
        pub enum $name:ident / $unknown:ident {
            $( $(#[$vmeta:meta])* $variant:ident = $text:literal, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $( $(#[$vmeta])* $variant, )+
            /// A value that this release does not know; `as_str()` returns its text.
            Other($unknown),
        }

        #[doc = concat!("A [`", stringify!($name), "`] that this release does not know. Its text is \
            available through [`as_str`](", stringify!($name), "::as_str) of the enum only.")]
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $unknown(Box<str>);

        impl $name {
            /// All values that this release knows, in the order of the table.
            pub const KNOWN: &[Self] = &[$( Self::$variant, )+];

            /// Returns the text of the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $( Self::$variant => $text, )+
                    Self::Other(unknown) => &unknown.0,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $( $text => Self::$variant, )+
                    other => Self::Other($unknown(other.into())),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Ok(Self::from(text.as_ref()))
            }
        }
    };
}

pub(crate) use open_enum;
