//! The rows that a service may send again. Pure.
//!
//! Memory is bounded whatever the service sends: a row is known by a hash of its id, and only rows that
//! the next page may repeat are kept.

use std::collections::HashSet;

use crate::row_key::RowKey;

/// Maximum number of rows of one time that are kept.
pub(super) const MAX_ROWS_OF_ONE_TIME: usize = 1_000_000;

/// Maximum number of rows in a resume token. More can be there if a list was resumed many times within one
/// time, or while many new rows came.
const MAX_ROWS_IN_TOKEN: usize = 10_000;

/// The rows that a walk has received and that the service may send again.
#[derive(Debug, Default)]
pub(super) struct KnownRows {
    /// The rows of the last page that had rows.
    page: HashSet<RowKey>,
    /// The rows of the page before it.
    previous: HashSet<RowKey>,
    /// The rows of older pages, as long as all of them have the oldest time.
    older: HashSet<RowKey>,
    /// The rows of the resume token, and the time of the oldest among them.
    resumed: HashSet<RowKey>,
    resumed_oldest: Option<i64>,
    /// Whether the last page with rows left the oldest time unchanged.
    tie_continues: bool,
}

impl KnownRows {
    /// Starts with the rows of a resume token, the oldest of them at this time.
    pub(super) fn resume(keys: Vec<RowKey>, oldest: Option<i64>) -> Self {
        Self { resumed: keys.into_iter().collect(), resumed_oldest: oldest, ..Self::default() }
    }

    pub(super) fn contains(&self, key: RowKey) -> bool {
        self.page.contains(&key) || self.is_from_earlier_page(key)
    }

    fn is_from_earlier_page(&self, key: RowKey) -> bool {
        [&self.previous, &self.older, &self.resumed].into_iter().any(|rows| rows.contains(&key))
    }

    /// Starts a page with rows. Forgets the rows that it cannot repeat. `oldest` is the oldest time so far.
    pub(super) fn begin_page(&mut self, oldest: Option<i64>) {
        if self.is_past_resumed(oldest) {
            self.resumed.clear();
        }
        let previous = std::mem::replace(&mut self.previous, std::mem::take(&mut self.page));
        if !self.tie_continues {
            self.older.clear();
        } else if self.older.len() < MAX_ROWS_OF_ONE_TIME {
            self.older.extend(previous);
        }
    }

    /// Adds a row of the page that has begun. Returns false if the row was received before.
    pub(super) fn add(&mut self, key: RowKey) -> bool {
        self.page.insert(key) && !self.is_from_earlier_page(key)
    }

    /// Ends a page with rows. `tie_continues` is whether it left the oldest time unchanged.
    pub(super) fn end_page(&mut self, tie_continues: bool) {
        self.tie_continues = tie_continues;
    }

    /// Returns the rows that the next page may repeat, for a resume token. `has_own_cursors` is whether the
    /// resumed walk can replace the service's cursor by one that is up to a unit later.
    pub(super) fn of_token(&self, oldest: Option<i64>, has_own_cursors: bool) -> Vec<RowKey> {
        let previous = Some(&self.previous).filter(|_| self.tie_continues);
        let older = Some(&self.older).filter(|_| self.tie_continues && has_own_cursors);
        let resumed = Some(&self.resumed).filter(|_| !self.is_past_resumed(oldest));
        let rows = [Some(&self.page), previous, older, resumed].into_iter().flatten();
        // The most recent rows first. The order in a set differs from run to run.
        let mut rows: Vec<_> = rows.flatten().copied().take(MAX_ROWS_IN_TOKEN).collect();
        rows.sort_unstable();
        rows
    }

    /// Returns the time below which no known row is, if the last row yielded was at `yielded`.
    pub(super) fn oldest(&self, yielded: Option<i64>) -> Option<i64> {
        let resumed = self.resumed_oldest.filter(|_| !self.resumed.is_empty());
        yielded.into_iter().chain(resumed).min()
    }

    /// Whether all rows of the resume token are newer than the list by now: a service that sends one of
    /// them violates the order.
    fn is_past_resumed(&self, oldest: Option<i64>) -> bool {
        oldest.zip(self.resumed_oldest).is_some_and(|(oldest, resumed)| oldest < resumed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_survives_json_and_differs_from_an_item() {
        let key = RowKey::of_id("sub_1");
        let json = serde_json::to_string(&key).unwrap();
        assert_eq!(json.len(), 24);
        assert_eq!(serde_json::from_str::<RowKey>(&json).unwrap(), key);
        assert_ne!(RowKey::of_item("sub_1"), key);
        for bad in [r#""""#, r#""AAAA""#, r#""?""#, "1"] {
            assert!(serde_json::from_str::<RowKey>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn token_rows_are_bounded() {
        let keys = (0..2 * MAX_ROWS_IN_TOKEN).map(|n| RowKey::of_id(&n.to_string()));
        let known = KnownRows::resume(keys.collect(), Some(0));
        assert_eq!(known.of_token(None, true).len(), MAX_ROWS_IN_TOKEN);
    }
}
