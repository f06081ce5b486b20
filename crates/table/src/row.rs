//! Stored submissions as input of a table.

use formsvc_protocol::object_members;

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

/// Calls `field` with the name literal and the value of each member of a JSON object, unless the text is
/// not one object.
pub fn for_each_field<'a>(
    object: &'a str,
    mut field: impl FnMut(&'a str, &'a str),
) -> Result<(), serde_json::Error> {
    for (name, value) in object_members(object)? {
        field(name.get(), value.get());
    }
    Ok(())
}
