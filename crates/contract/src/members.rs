//! The members of a JSON object or array, as unparsed text with their original spelling.

use std::fmt;

pub use formsvc_protocol::object_members as of_object;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the elements of an array in order. Fails for other JSON.
pub fn of_array(text: &str) -> serde_json::Result<Vec<&RawValue>> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let elements = reader.deserialize_seq(Elements)?;
    reader.end().map(|()| elements)
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
