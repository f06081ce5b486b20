//! Stored submissions as input of a table.

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A stored submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredRow<'a> {
    /// Identifier.
    pub id: &'a str,
    /// The time as the service sent it.
    pub created_at: &'a str,
    /// The same time in microseconds since 1970.
    pub instant: i64,
    /// The exact JSON text of the answers.
    pub data: &'a str,
    /// The JSON object of members that this release does not know; may be empty text.
    pub extra: &'a str,
}

/// Calls `field` with the name literal and the value of each member of a JSON object.
///
/// Nesting is not limited, because values are only skipped. Returns an error for text that is not one
/// object; `field` may have been called for the members before the error.
pub fn for_each_field<'a>(
    object: &'a str,
    field: impl FnMut(&'a str, &'a str),
) -> Result<(), serde_json::Error> {
    struct Fields<F>(F);

    impl<'de, F: FnMut(&'de str, &'de str)> Visitor<'de> for Fields<F> {
        type Value = ();

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
            while let Some((name, value)) = map.next_entry::<&'de RawValue, &'de RawValue>()? {
                (self.0)(name.get(), value.get());
            }
            Ok(())
        }
    }

    let mut json = serde_json::Deserializer::from_str(object);
    json.deserialize_map(Fields(field))?;
    json.end()
}

/// Returns the items of a JSON list.
pub(crate) fn items(list: &str) -> Vec<&str> {
    let items: Vec<&RawValue> = serde_json::from_str(list).unwrap_or_default();
    items.into_iter().map(RawValue::get).collect()
}
