//! What is claimed and what was handled, in the order in which it ends.

use std::collections::hash_map::Entry as Slot;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::name::{Hashed, Name, Named, Naming};

/// Claims and marks of a process. Times are milliseconds since 1970.
#[derive(Debug, Default)]
pub(super) struct Table {
    naming: Naming,
    entries: HashMap<Name, Entry, Hashed>,
    /// What ends first of each, by its end and its fencing number, which no other has.
    claims: Ends,
    marks: Ends,
    /// The greatest fencing number so far.
    fence: i64,
    forgotten: u64,
}

/// How long a claim is kept whose lease has ended: its handler may still complete it.
const CLAIM_KEPT: i64 = 24 * 3_600 * 1_000;

type Ends = BTreeMap<(i64, i64), Name>;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    is_mark: bool,
    until: i64,
    fence: i64,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// It was handled.
    Mark,
    /// Its lease runs until then.
    Claim { until: i64 },
    /// Nothing that counts any more.
    Ended,
}

impl Table {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(super) fn find(&self, name: &str, now: i64) -> Option<Found> {
        self.entries.get(&self.naming.look(name) as &dyn Named).map(|entry| entry.at(now))
    }

    /// Claims a key for which nothing counts any more; otherwise gives what counts.
    pub(super) fn claim(&mut self, name: Arc<str>, now: i64, until: i64) -> Result<i64, Found> {
        let entry = Entry { is_mark: false, until, fence: self.fence + 1 };
        match self.entries.entry(self.naming.name(name)) {
            Slot::Occupied(mut slot) => {
                let found = slot.get().at(now);
                if found != Found::Ended {
                    return Err(found);
                }
                let was = slot.insert(entry);
                let ends = if was.is_mark { &mut self.marks } else { &mut self.claims };
                let name = ends.remove(&(was.until, was.fence));
                let name = name.unwrap_or_else(|| slot.key().clone());
                self.claims.insert((until, entry.fence), name);
            }
            Slot::Vacant(slot) => {
                self.claims.insert((until, entry.fence), slot.key().clone());
                slot.insert(entry);
            }
        }
        self.fence = entry.fence;
        Ok(entry.fence)
    }

    pub(super) fn extend(&mut self, name: &str, fence: i64, until: i64) -> bool {
        self.change(name, fence, |entry| !entry.is_mark, Entry { is_mark: false, until, fence })
    }

    pub(super) fn complete(&mut self, name: &str, fence: i64, until: i64) -> bool {
        self.change(name, fence, |_| true, Entry { is_mark: true, until, fence })
    }

    pub(super) fn release(&mut self, name: &str, fence: i64) -> bool {
        let name = self.naming.look(name);
        let held = self.entries.get(&name as &dyn Named);
        let held = held.is_some_and(|entry| entry.fence == fence && !entry.is_mark);
        if held {
            self.remove(&name);
        }
        held
    }

    /// Forgets marks whose time has come, and claims that nobody came back for, at most so many.
    pub(super) fn prune(&mut self, now: i64, at_most: usize) -> usize {
        let late = now.saturating_sub(CLAIM_KEPT);
        (0..at_most).take_while(|_| self.forget_mark(now) || self.forget_claim(late)).count()
    }

    /// Forgets the claim whose lease ended first, if it ended by then.
    pub(super) fn forget_claim(&mut self, by: i64) -> bool {
        let ended = first_of(&self.claims, by);
        ended.inspect(|name| self.remove(name)).is_some()
    }

    fn forget_mark(&mut self, by: i64) -> bool {
        let ended = first_of(&self.marks, by);
        ended.inspect(|name| self.remove(name)).is_some()
    }

    /// Forgets the mark that ends first, before its time, if it ends by then; `false` when there is none.
    pub(super) fn forget_oldest(&mut self, by: i64) -> bool {
        let had_one = self.forget_mark(by);
        self.forgotten += u64::from(had_one);
        had_one
    }

    fn change(
        &mut self,
        name: &str,
        fence: i64,
        may: impl FnOnce(&Entry) -> bool,
        to: Entry,
    ) -> bool {
        let name = self.naming.look(name);
        let Some(entry) = self.entries.get_mut(&name as &dyn Named) else { return false };
        if entry.fence != fence || !may(entry) {
            return false;
        }
        let was = std::mem::replace(entry, to);
        if let Some(name) = self.ends(was).remove(&(was.until, was.fence)) {
            self.ends(to).insert((to.until, to.fence), name);
        }
        true
    }

    fn remove(&mut self, name: &dyn Named) {
        if let Some(entry) = self.entries.remove(name) {
            self.ends(entry).remove(&(entry.until, entry.fence));
        }
    }

    fn ends(&mut self, entry: Entry) -> &mut Ends {
        if entry.is_mark { &mut self.marks } else { &mut self.claims }
    }
}

impl Entry {
    fn at(&self, now: i64) -> Found {
        match self {
            Self { until, .. } if *until <= now => Found::Ended,
            Self { is_mark: true, .. } => Found::Mark,
            Self { until, .. } => Found::Claim { until: *until },
        }
    }
}

/// What ends first, if by then.
fn first_of(ends: &Ends, by: i64) -> Option<Name> {
    let first = ends.first_key_value().filter(|((until, _), _)| *until <= by);
    first.map(|(_, name)| name.clone())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_orders_hold_what_is_there_and_nothing_else(
            steps in prop::collection::vec((0..5_u8, 0..4_u8, 0..6_i64, 0..20_i64), 1..200),
        ) {
            let mut table = Table::default();
            for (step, name, fence, time) in steps {
                let name = name.to_string();
                match step {
                    0 => drop(table.claim(name.into(), fence, time)),
                    1 => drop(table.complete(&name, table.fence - fence, time)),
                    2 => drop(table.release(&name, table.fence - fence)),
                    3 => drop(table.extend(&name, table.fence - fence, time)),
                    _ => drop(table.prune(time, 2)),
                }
                let in_order = table.claims.len() + table.marks.len();
                prop_assert_eq!(in_order, table.entries.len());
                for (name, entry) in table.entries.clone() {
                    let ends = table.ends(entry);
                    prop_assert_eq!(ends.get(&(entry.until, entry.fence)), Some(&name));
                }
            }
        }
    }

    #[test]
    fn a_claim_that_nobody_came_back_for_goes_a_day_after_its_lease_has_ended() {
        let mut table = Table::default();
        assert_eq!(table.claim("a".into(), 0, 10), Ok(1));
        assert_eq!(table.prune(CLAIM_KEPT + 9, 9), 0);
        assert_eq!(table.prune(CLAIM_KEPT + 10, 9), 1);
        assert_eq!(table.len(), 0);
    }
}
