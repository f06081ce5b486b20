//! Keys of a table, each with its hash: a table that grows hashes all it has anew, and would look up each
//! text for that, wherever it lies.

use std::borrow::Borrow;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::Arc;

/// Hashes texts with a key of its own: whoever chooses texts cannot have them collide.
#[derive(Clone, Debug, Default)]
pub(super) struct Naming(RandomState);

/// A text and its hash.
#[derive(Clone, Debug)]
pub(super) struct Name {
    hash: u64,
    text: Arc<str>,
}

/// The same of a text that lies elsewhere.
struct Looked<'a> {
    hash: u64,
    text: &'a str,
}

/// What a table is asked for.
pub(super) trait Named {
    fn hashed(&self) -> u64;
    fn text(&self) -> &str;
}

/// Builds what hashes [`Named`], by taking the hash that is there.
pub(super) type Hashed = BuildHasherDefault<There>;

/// The hash that is there.
#[derive(Default)]
pub(super) struct There(u64);

impl Naming {
    pub(super) fn name(&self, text: Arc<str>) -> Name {
        Name { hash: self.0.hash_one(&*text), text }
    }

    pub(super) fn look<'a>(&self, text: &'a str) -> impl Named + use<'a> {
        Looked { hash: self.0.hash_one(text), text }
    }
}

impl Named for Name {
    fn hashed(&self) -> u64 {
        self.hash
    }

    fn text(&self) -> &str {
        &self.text
    }
}

impl Named for Looked<'_> {
    fn hashed(&self) -> u64 {
        self.hash
    }

    fn text(&self) -> &str {
        self.text
    }
}

impl<'a> Borrow<dyn Named + 'a> for Name {
    fn borrow(&self) -> &(dyn Named + 'a) {
        self
    }
}

impl Hash for dyn Named + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hashed());
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self as &dyn Named).hash(state);
    }
}

impl PartialEq for dyn Named + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.hashed() == other.hashed() && self.text() == other.text()
    }
}

impl Eq for dyn Named + '_ {}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self as &dyn Named == other as &dyn Named
    }
}

impl Eq for Name {}

impl Hasher for There {
    fn write(&mut self, _: &[u8]) {
        unreachable!("nothing but a hash is hashed");
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn texts_of_one_hash_are_told_apart() {
        let name = |text: &str| Name { hash: 7, text: text.into() };
        let mut map = HashMap::<Name, u8, Hashed>::default();
        for (value, text) in ["a", "b", "c"].into_iter().enumerate() {
            map.insert(name(text), u8::try_from(value).unwrap());
        }
        let look = |text| Looked { hash: 7, text };
        assert_eq!(map.get(&look("b") as &dyn Named), Some(&1));
        assert_eq!(map.get(&look("d") as &dyn Named), None);
    }
}
