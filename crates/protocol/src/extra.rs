//! Members that a later release of the service may add.

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
            |(name, value): &(String, Box<RawValue>)| (name.clone(), value.get().to_owned());
        self.0.len() == other.0.len() && self.0.iter().map(texts).eq(other.0.iter().map(texts))
    }
}

impl Eq for ExtraMembers {}

impl fmt::Debug for ExtraMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}
