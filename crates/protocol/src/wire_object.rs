//! Reads and writes the JSON objects of the wire, with members that a later release may add.

use std::fmt;

use serde_json::value::RawValue;

/// The members of an object that this release has no field for, in their order and as exact JSON.
///
/// The Debug output shows the names only: the values may be answers.
#[derive(Clone, Default)]
pub struct ExtraMembers(Vec<(String, Box<RawValue>)>);

impl ExtraMembers {
    /// Returns the exact JSON text of the first member with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value.get())
    }

    /// Iterates over name and value of each member.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), &**value))
    }

    /// Returns true if there is no such member.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, name: String, value: Box<RawValue>) {
        self.0.push((name, value));
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

impl fmt::Debug for ExtraMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Declares a struct that is read from a JSON object, and only from an object.
///
/// serde's derived code also accepts an array of the members in order; the service never sends one,
/// so an array is an error here. A missing, repeated or malformed member is an error that names it.
/// Unknown members are skipped, or kept in `extra` where the declaration ends with `+ extra`.
macro_rules! wire_object {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$generic:ident>)? {
            $( $(#[$field_meta:meta])* $field:ident: $type:ty $(= $default:expr)?, )+
        }
        $(+ $(#[$extra_meta:meta])* $extra:ident)?
    ) => {
        $(#[$meta])*
        $vis struct $name $(<$generic>)? {
            $( $(#[$field_meta])* pub $field: $type, )+
            $( $(#[$extra_meta])* pub $extra: crate::wire_object::ExtraMembers, )?
        }

        impl<'de $(, $generic: serde::Deserialize<'de>)?> serde::Deserialize<'de>
            for $name $(<$generic>)?
        {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members<T>(std::marker::PhantomData<T>);

                impl<'de $(, $generic: serde::Deserialize<'de>)?> serde::de::Visitor<'de>
                    for Members<$name $(<$generic>)?>
                {
                    type Value = $name $(<$generic>)?;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        mut members: A,
                    ) -> Result<Self::Value, A::Error> {
                        $( let mut $field: Option<$type> = None; )+
                        $( let mut $extra = crate::wire_object::ExtraMembers::default(); )?
                        while let Some(name) = members.next_key::<String>()? {
                            match name.as_str() {
                                $( stringify!($field) => {
                                    if $field.replace(members.next_value()?).is_some() {
                                        let name = stringify!($field);
                                        return Err(serde::de::Error::duplicate_field(name));
                                    }
                                } )+
                                _ => wire_object!(@unknown members, name $(, $extra)?),
                            }
                        }
                        Ok($name {
                            $( $field: match $field {
                                Some(value) => value,
                                None => wire_object!(@missing $field $(, $default)?),
                            }, )+
                            $( $extra, )?
                        })
                    }
                }

                deserializer.deserialize_map(Members(std::marker::PhantomData))
            }
        }

        impl $(<$generic: serde::Serialize>)? serde::Serialize for $name $(<$generic>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut object = serializer.serialize_map(None)?;
                $( object.serialize_entry(stringify!($field), &self.$field)?; )+
                $( for (name, value) in self.$extra.iter() {
                    object.serialize_entry(name, value)?;
                } )?
                object.end()
            }
        }
    };
    (@missing $field:ident) => {
        return Err(serde::de::Error::missing_field(stringify!($field)))
    };
    (@missing $field:ident, $default:expr) => { $default };
    (@unknown $members:ident, $name:ident) => {{
        let _: serde::de::IgnoredAny = $members.next_value()?;
    }};
    (@unknown $members:ident, $name:ident, $extra:ident) => {
        $extra.push($name, $members.next_value()?)
    };
}

pub(crate) use wire_object;
