//! A set of ids that costs no allocation once it has grown: a page of ids goes in and out of it
//! for every page of an export.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Ids in the order they came, in one text, found by open addressing. The caller hashes, because
/// it asks several sets about the same id.
#[derive(Debug, Default)]
pub(crate) struct IdSet {
    text: String,
    /// Where each id ends in `text`, and its hash.
    entries: Vec<(usize, u64)>,
    /// Place in `entries` plus one; zero is free. The length is a power of two, or zero.
    slots: Vec<u32>,
}

/// Slots of the smallest table; room for a full page.
const SLOTS_MIN: usize = 256;

impl IdSet {
    /// Adds an id; false when it is already there.
    pub(crate) fn insert(&mut self, hash: u64, id: &str) -> bool {
        if self.slots.len() < 2 * (self.entries.len() + 1) {
            self.grow();
        }
        let Err(free) = self.find(hash, id) else { return false };
        self.text.push_str(id);
        self.entries.push((self.text.len(), hash));
        self.slots[free] =
            u32::try_from(self.entries.len()).expect("4 billion ids do not fit in memory");
        true
    }

    pub(crate) fn contains(&self, hash: u64, id: &str) -> bool {
        !self.entries.is_empty() && self.find(hash, id).is_ok()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Forgets the ids, keeps the room.
    pub(crate) fn clear(&mut self) {
        if !self.entries.is_empty() {
            self.text.clear();
            self.entries.clear();
            self.slots.fill(0);
        }
    }

    /// Adds every id of another set.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for (at, (_, hash)) in other.entries.iter().enumerate() {
            self.insert(*hash, other.id(at));
        }
    }

    /// The ids, in the order they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.entries.len()).map(|at| self.id(at))
    }

    fn id(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.entries[before].0);
        &self.text[start..self.entries[at].0]
    }

    /// The slot of an id, or the free slot it would take.
    fn find(&self, hash: u64, id: &str) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut slot = slot_of(hash, mask);
        loop {
            let Some(at) = (self.slots[slot] as usize).checked_sub(1) else { return Err(slot) };
            if self.entries[at].1 == hash && self.id(at) == id {
                return Ok(slot);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let room = (self.slots.len() * 2).max(SLOTS_MIN);
        self.slots.clear();
        self.slots.resize(room, 0);
        for (at, (_, hash)) in (1_u32..).zip(&self.entries) {
            let mut slot = slot_of(*hash, room - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (room - 1);
            }
            self.slots[slot] = at;
        }
    }
}

/// Hashes ids. Much cheaper than the standard library's hash, and good enough here: a collision
/// costs a comparison and never a row, and the seed is this process's own secret.
#[derive(Debug)]
pub(crate) struct IdHash(u64);

impl Default for IdHash {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0) | 1)
    }
}

impl IdHash {
    pub(crate) fn hash(&self, id: &str) -> u64 {
        let mix = |hash: u64, word: u64| {
            let wide = u128::from(hash ^ word) * u128::from(MULTIPLIER);
            low(wide) ^ low(wide >> 64)
        };
        let (words, rest) = id.as_bytes().as_chunks::<8>();
        let hash = words.iter().fold(self.0, |hash, word| mix(hash, u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        mix(mix(hash, u64::from_le_bytes(last)), id.len() as u64)
    }
}

/// Odd, with its bits spread evenly: the fraction of the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
fn low(wide: u128) -> u64 {
    wide as u64
}

#[expect(clippy::cast_possible_truncation, reason = "the low bits of the hash are what is wanted")]
fn slot_of(hash: u64, mask: usize) -> usize {
    hash as usize & mask
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_agrees_with_the_standard_set(ids in prop::collection::vec("[a-c]{0,5}", 0..700)) {
            let (mut set, mut model) = (IdSet::default(), HashSet::new());
            for id in &ids {
                // A hash this poor makes every probe sequence collide.
                let hash = id.len() as u64;
                prop_assert_eq!(set.contains(hash, id), model.contains(id));
                prop_assert_eq!(set.insert(hash, id), model.insert(id.clone()));
            }
            prop_assert_eq!(set.iter().count(), model.len());
            prop_assert!(set.iter().all(|id| model.contains(id)));
        }
    }

    #[test]
    fn ids_that_differ_in_one_digit_hash_apart() {
        let hasher = IdHash::default();
        let places: HashSet<_> =
            (0..100_000).map(|n| hasher.hash(&format!("sub_{n:032x}")) % 1_048_576).collect();
        // 100,000 of 1,048,576 places taken at random leave about 95,300 different ones.
        assert!(places.len() > 94_000, "{}", places.len());
        assert_ne!(hasher.hash("a"), hasher.hash("a\0"));
    }

    #[test]
    fn cleared_it_is_empty_and_usable() {
        let mut set = IdSet::default();
        assert!(set.insert(1, "a") && !set.insert(1, "a"));
        set.clear();
        assert!(set.is_empty() && !set.contains(1, "a"));
        assert!(set.insert(1, "a"));
    }

    #[test]
    fn absorbing_adds_what_is_missing_in_order() {
        let (mut a, mut b) = (IdSet::default(), IdSet::default());
        for (hash, id) in [(1, "a"), (2, "b")] {
            a.insert(hash, id);
        }
        for (hash, id) in [(2, "b"), (3, "c")] {
            b.insert(hash, id);
        }
        a.absorb(&b);
        assert_eq!(a.iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
