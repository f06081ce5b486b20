//! What a search may cost. It is counted, in bytes that are gone through, and not timed: what is found in a
//! delivery follows from the delivery alone.

/// Work of a whole search. A unit is about a nanosecond of one slow core, so that this is about two seconds.
pub(super) const WORK_MAX: u64 = 2_000_000_000;
/// What of it two changes at once may take.
pub(super) const PAIRS_MAX: u64 = WORK_MAX / 2;
/// What a step costs besides its bytes.
const STEP: u64 = 500;

/// What is done with bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A MAC or a hash of them.
    Mac,
    /// Whether they were tried before.
    Seen,
    /// A change that knows no JSON.
    Change,
    /// Read as a document, with its layout.
    Read,
    /// Printed in a style.
    Print,
    /// Printed with its members in another order.
    Sort,
    /// The styles found in which a document looks different, each by printing it.
    Styles,
}

impl Kind {
    /// Units for a byte.
    const fn weight(self) -> u64 {
        match self {
            Self::Seen => 1,
            Self::Mac => 3,
            Self::Change => 8,
            Self::Print => 10,
            Self::Sort => 40,
            Self::Read => 62,
            Self::Styles => 200,
        }
    }

    /// Units for so many bytes.
    pub(super) fn cost(self, bytes: usize) -> u64 {
        self.weight().saturating_mul(bytes as u64).saturating_add(STEP)
    }
}

/// What is left of the work that a search may do.
#[derive(Debug)]
pub(super) struct Work {
    left: u64,
}

impl Work {
    pub(super) fn new(most: u64) -> Self {
        Self { left: most }
    }

    /// Takes what a step costs; false, and nothing is taken, where that is more than is left.
    pub(super) fn take(&mut self, kind: Kind, bytes: usize) -> bool {
        let left = self.left.checked_sub(kind.cost(bytes));
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// Takes what a step cost more than was known before it, as far as there is any.
    pub(super) fn spend(&mut self, kind: Kind, bytes: usize) {
        self.left = self.left.saturating_sub(kind.weight().saturating_mul(bytes as u64));
    }

    /// Takes what is left over a bound away.
    pub(super) fn bound(&mut self, most: u64) {
        self.left = self.left.min(most);
    }
}

/// Notes what is done, for tests.
#[inline]
pub(super) fn note(kind: Kind, bytes: usize) {
    #[cfg(test)]
    done::note(kind, bytes);
    #[cfg(not(test))]
    let _ = (kind, bytes);
}

/// What was really done, for the tests of the bound: noted where it is done, and not where it is taken.
#[cfg(test)]
pub(super) mod done {
    use std::cell::Cell;

    use super::Kind;

    thread_local! {
        static DONE: Cell<u64> = const { Cell::new(0) };
    }

    /// Units since the last time this was asked.
    pub(in super::super) fn since_last() -> u64 {
        DONE.take()
    }

    pub(super) fn note(kind: Kind, bytes: usize) {
        DONE.set(DONE.get() + kind.weight() * bytes as u64);
    }
}
