//! The hash that identifies a row of a list.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Identifies a row: the first 128 bits of the SHA-256 of its id, because ids may have any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RowKey([u8; 16]);

impl RowKey {
    pub(crate) fn of_id(id: &str) -> Self {
        Self::of_bytes(&[id.as_bytes()])
    }

    /// Returns the key of an item without a usable id: that of its exact text. It differs from the key of
    /// every id, because no id contains the NUL character.
    pub(crate) fn of_item(json: &str) -> Self {
        Self::of_bytes(&[b"\0", json.as_bytes()])
    }

    pub(crate) fn into_bytes(self) -> [u8; 16] {
        self.0
    }

    /// Returns the first half of the key.
    pub(crate) fn first_8_bytes(self) -> u64 {
        u64::from_be_bytes(*self.0.first_chunk().expect("a key has 16 bytes"))
    }

    fn of_bytes(parts: &[&[u8]]) -> Self {
        let mut hash = Context::new(&SHA256);
        for part in parts {
            hash.update(part);
        }
        let mut key = [0; 16];
        key.copy_from_slice(&hash.finish().as_ref()[..16]);
        Self(key)
    }
}

impl Serialize for RowKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for RowKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let bytes = URL_SAFE_NO_PAD.decode(&*text).map_err(de::Error::custom)?;
        bytes.try_into().map(Self).map_err(|_| de::Error::custom("a row key has 16 bytes"))
    }
}
