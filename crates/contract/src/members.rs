//! The members of a JSON object or array, as unparsed text with their original spelling.

use std::fmt;

use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the names and values of an object in order, with repeated names. Fails for other JSON.
///
/// ```
/// let members = formsvc_contract::members::of_object(r#"{"a": 1.50, "a":[]}"#)?;
/// let texts: Vec<_> = members.iter().map(|(name, value)| (name.get(), value.get())).collect();
/// assert_eq!(texts, [("\"a\"", "1.50"), ("\"a\"", "[]")]);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn of_object(text: &str) -> serde_json::Result<Vec<(&RawValue, &RawValue)>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let members = reader.deserialize_map(Members)?;
    reader.end().map(|()| members)
}

/// Returns the elements of an array in order. Fails for other JSON.
pub fn of_array(text: &str) -> serde_json::Result<Vec<&RawValue>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let elements = reader.deserialize_seq(Elements)?;
    reader.end().map(|()| elements)
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        std::iter::from_fn(|| map.next_entry().transpose()).collect()
    }
}

struct Elements;

impl<'de> Visitor<'de> for Elements {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        std::iter::from_fn(|| seq.next_element().transpose()).collect()
    }
}
