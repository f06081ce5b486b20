//! Items of a list that cannot be used.

use std::fmt;

use formsvc_protocol::{Timestamp, decode_string, object_members};

use crate::api_key::ApiKey;
use crate::error::{EscapedText, cut, short};
use crate::row_key::RowKey;

/// Characters of a JSON path that are kept. Names in the path may be foreign text.
const PATH_KEPT: usize = 1_000;

/// An item of a list that violates the API (SPEC §2), such as a form without a title. It was
/// left out of the list.
///
/// Contains no answers. Its texts are untrusted: they may contain control characters, which Display
/// escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItem(Box<Content>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    id: Option<String>,
    public_id: Option<String>,
    title: Option<String>,
    created_at: Option<Timestamp>,
    json_path: String,
    reason: String,
    hash: [u8; 16],
}

impl SkippedItem {
    /// Describes an item by its JSON. The texts do not contain the API key.
    pub(crate) fn new(json: &str, json_path: String, reason: String, key: &ApiKey) -> Self {
        let members = object_members(json).unwrap_or_default();
        let text = |wanted: &str| {
            let (_, value) =
                members.iter().find(|(name, _)| decode_string(name.get()) == wanted)?;
            serde_json::from_str::<String>(value.get()).ok().map(|text| key.redact(text))
        };
        Self(Box::new(Content {
            id: text("id"),
            public_id: text("public_id"),
            title: text("title"),
            created_at: text("created_at").and_then(|time| time.parse().ok()),
            json_path: cut(&key.redact(json_path), PATH_KEPT).to_owned(),
            reason: short(&key.redact(reason)).to_owned(),
            hash: RowKey::of_item(json).into_bytes(),
        }))
    }

    /// Returns the member `id`, if it is a text. It may break the rules of ids.
    pub fn id(&self) -> Option<&str> {
        self.0.id.as_deref()
    }

    /// Returns the member `public_id` of a form, if it is a text.
    pub fn public_id(&self) -> Option<&str> {
        self.0.public_id.as_deref()
    }

    /// Returns the member `title` of a form, if it is a text.
    pub fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// Returns the member `created_at`, if it is a time.
    pub fn created_at(&self) -> Option<&Timestamp> {
        self.0.created_at.as_ref()
    }

    /// Returns a hash of the item's JSON, which identifies an item without a usable id in several lists.
    pub fn content_hash(&self) -> [u8; 16] {
        self.0.hash
    }

    /// Returns the position of the fault in the JSON of the response, such as `data[30].data`.
    pub fn json_path(&self) -> &str {
        &self.0.json_path
    }

    /// Returns the rule that the item breaks.
    pub fn reason(&self) -> &str {
        &self.0.reason
    }
}

/// Names the item, the position of the fault and the rule.
impl fmt::Display for SkippedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.id {
            Some(id) => write!(f, "`{}`", EscapedText(short(id)))?,
            None => f.write_str("an item without an id")?,
        }
        write!(f, " at `{}`: {}", EscapedText(&self.0.json_path), EscapedText(&self.0.reason))
    }
}
