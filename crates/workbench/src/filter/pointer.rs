//! JSON pointers (RFC 6901) into a body. The body is not parsed into a tree of values, which can use 80 times the size
//! of the body.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the value at a pointer. The body must be JSON.
pub(super) fn find<'b>(body: &'b [u8], pointer: &str) -> Option<&'b RawValue> {
    let body = serde_json::from_slice::<&RawValue>(body).ok()?;
    let tokens =
        pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~"));
    tokens.into_iter().try_fold(body, |value, token| {
        serde_json::Deserializer::from_str(value.get()).deserialize_any(Child(&token)).ok()?
    })
}

/// Finds a member of an object by name, or an element of an array by index. If several members have the name, finds the
/// last of them.
struct Child<'t>(&'t str);

impl<'b> Visitor<'b> for Child<'_> {
    type Value = Option<&'b RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'b>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(name) = map.next_key::<String>()? {
            if name == self.0 {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'b>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let is_index = self.0 == "0" || !self.0.starts_with(['0', '+']);
        let wanted = self.0.parse::<usize>().ok().filter(|_| is_index);
        let (mut found, mut index) = (None, 0);
        while let Some(element) = seq.next_element::<&RawValue>()? {
            if wanted == Some(index) {
                found = Some(element);
            }
            index += 1;
        }
        Ok(found)
    }
}
