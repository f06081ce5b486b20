//! JSON objects of the wire with members that a later release of the service may add.

use std::fmt;

use serde::de::value::UnitDeserializer;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

/// The members of an object that this release has no field for, in their order and as exact JSON.
///
/// The Debug output shows the names only: the values may be answers.
#[derive(Clone, Default)]
pub struct ExtraMembers(pub(crate) Vec<(String, Box<RawValue>)>);

impl ExtraMembers {
    /// Returns the exact JSON text of the first member with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value.get())
    }

    /// Iterates over name and value of each member.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }
}

/// Compares names and exact JSON texts, in order.
impl PartialEq for ExtraMembers {
    fn eq(&self, other: &Self) -> bool {
        let texts =
            |(name, value): (&'_ str, &'_ RawValue)| (name.to_owned(), value.get().to_owned());
        self.iter().map(texts).eq(other.iter().map(texts))
    }
}

impl Eq for ExtraMembers {}

impl Serialize for ExtraMembers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl fmt::Debug for ExtraMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Returns the value of a missing member: `None` of an `Option`, nothing of other types.
pub(crate) fn default_of_missing<'de, T: Deserialize<'de>>() -> Option<T> {
    T::deserialize(UnitDeserializer::<serde::de::value::Error>::new()).ok()
}

/// Declares a struct that keeps the members it has no field for in `extra`.
///
/// `#[serde(flatten)]` would read those members as values, which changes the digits of numbers. A
/// missing, repeated or malformed member is an error that names it.
macro_rules! wire_object {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident: $type:ty, )+
        }
    ) => {
        $(#[$meta])*
        #[derive(serde::Serialize)]
        $vis struct $name {
            $( $(#[$field_meta])* pub $field: $type, )+
            /// Members that a later release of the service added.
            #[serde(flatten)]
            pub extra: crate::wire_object::ExtraMembers,
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> serde::de::Visitor<'de> for Members {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut members: A,
                    ) -> Result<$name, A::Error> {
                        $( let mut $field: Option<$type> = None; )+
                        let mut extra = crate::wire_object::ExtraMembers::default();
                        while let Some(name) = members.next_key::<String>()? {
                            match name.as_str() {
                                $( stringify!($field) => {
                                    if $field.replace(members.next_value()?).is_some() {
                                        let name = stringify!($field);
                                        return Err(serde::de::Error::duplicate_field(name));
                                    }
                                } )+
                                _ => extra.0.push((name, members.next_value()?)),
                            }
                        }
                        $( let $field = $field
                            .or_else(crate::wire_object::default_of_missing)
                            .ok_or_else(|| serde::de::Error::missing_field(stringify!($field)))?; )+
                        Ok($name { $($field,)+ extra })
                    }
                }

                deserializer.deserialize_map(Members)
            }
        }
    };
}

pub(crate) use wire_object;
