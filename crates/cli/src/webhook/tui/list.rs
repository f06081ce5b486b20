//! The list: rows, newest first, the one that is chosen, and which of them are on the screen.

use std::collections::VecDeque;

use super::row::{Row, RowKey};
use crate::webhook::capture::CaptureNumber;

/// Rows that are held; older ones are read again when somebody goes there.
pub(super) const ROWS_MAX: usize = 5_000;

/// The list.
#[derive(Debug, Default)]
pub(super) struct List {
    rows: VecDeque<Row>,
    chosen: usize,
    /// The first row on the screen.
    top: usize,
    /// Rows that the screen has.
    height: usize,
    /// Whether the newest is chosen, whichever that is.
    pub(super) following: bool,
    /// Whether there are older ones that were not read.
    pub(super) has_more: bool,
}

impl List {
    pub(super) fn new() -> Self {
        Self { following: true, ..Self::default() }
    }

    pub(super) fn rows(&self) -> &VecDeque<Row> {
        &self.rows
    }

    /// The rows on the screen, and which of them is chosen.
    pub(super) fn shown(&self) -> impl Iterator<Item = (bool, &Row)> {
        let rows = self.rows.iter().enumerate().skip(self.top).take(self.height);
        rows.map(|(at, row)| (at == self.chosen, row))
    }

    pub(super) fn chosen(&self) -> Option<&Row> {
        self.rows.get(self.chosen)
    }

    /// The place of the chosen one, from 1.
    pub(super) fn place(&self) -> usize {
        (self.chosen + 1).min(self.rows.len())
    }

    /// The number of the oldest one that was read.
    pub(super) fn oldest(&self) -> Option<CaptureNumber> {
        self.rows.iter().rev().find_map(|row| row.number)
    }

    /// Puts a row where it belongs, or in the place of what is known of it.
    pub(super) fn put(&mut self, row: Row) {
        let mut place = self.rows.len();
        for (at, other) in self.rows.iter_mut().enumerate() {
            if other.key() == row.key() {
                // What was answered is not being answered any more, whoever says so.
                if row.answer.is_some() || other.answer.is_none() {
                    *other = row;
                }
                return;
            }
            if other.is_older_than(&row) {
                place = at;
                break;
            }
        }
        if place == self.rows.len() && self.has_more {
            // It is read when somebody goes there, with those between.
            return;
        }
        self.rows.insert(place, row);
        if !self.following && place <= self.chosen && self.rows.len() > 1 {
            self.chosen += 1;
            self.top += 1;
        }
        if self.rows.len() > ROWS_MAX && self.chosen < ROWS_MAX {
            self.rows.truncate(ROWS_MAX);
            self.has_more = true;
        }
        self.settle();
    }

    /// Takes one away that does not belong here any more.
    pub(super) fn remove(&mut self, key: RowKey) {
        let Some(at) = self.rows.iter().position(|row| row.key() == key) else { return };
        self.rows.remove(at);
        if at < self.chosen {
            self.chosen -= 1;
        }
        self.settle();
    }

    /// What was read anew: the newest there are. What came meanwhile stays, and what was read of older
    /// ones where nothing is missing between.
    pub(super) fn renew(&mut self, fresh: Vec<Row>, has_more: bool) {
        let kept = self.chosen().map(Row::key).filter(|_| !self.following);
        let offset = self.chosen.saturating_sub(self.top);
        let number = |rows: &VecDeque<Row>| rows.iter().find_map(|row| row.number);
        let oldest = fresh.iter().rev().find_map(|row| row.number);
        let old = std::mem::replace(&mut self.rows, fresh.into());
        let (newest, meets) = (number(&self.rows), number(&old) >= oldest);
        let more_before = std::mem::replace(&mut self.has_more, has_more);
        let mut older = Vec::new();
        for row in old {
            let is_older = row.number.is_some_and(|number| Some(number) < oldest);
            if is_older {
                older.extend((meets && has_more).then_some(row));
            } else if row.number.is_none_or(|number| Some(number) > newest)
                || self.rows.iter().any(|fresh| fresh.key() == row.key())
            {
                self.put(row);
            }
        }
        if !older.is_empty() {
            self.rows.extend(older);
            self.has_more = more_before;
        }
        let place = kept.and_then(|key| self.rows.iter().position(|row| row.key() == key));
        if let Some(place) = place {
            (self.chosen, self.top) = (place, place.saturating_sub(offset));
        }
        self.settle();
    }

    /// Older ones, which were asked for.
    pub(super) fn extend(&mut self, older: Vec<Row>, has_more: bool) {
        self.rows.extend(older);
        self.has_more = has_more;
        self.settle();
    }

    pub(super) fn clear(&mut self) {
        *self = Self { height: self.height, ..Self::new() };
    }

    /// Moves by so many rows. Down from the newest, what is chosen stays; at the top each new one is.
    pub(super) fn by(&mut self, rows: isize) {
        self.chosen = self.chosen.saturating_add_signed(rows);
        self.following = false;
        self.settle();
        self.following = self.chosen == 0;
    }

    /// Moves by a screen.
    pub(super) fn page(&mut self, down: bool) {
        let rows = isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1);
        self.by(if down { rows } else { -rows });
    }

    /// To the newest.
    pub(super) fn first(&mut self) {
        (self.chosen, self.following) = (0, true);
        self.settle();
    }

    /// To the oldest that was read.
    pub(super) fn last(&mut self) {
        self.by(isize::MAX);
    }

    /// How many rows the screen has for it.
    pub(super) fn resize(&mut self, height: usize) {
        self.height = height;
        self.settle();
    }

    /// Whether the end is so close that older ones are wanted.
    pub(super) fn wants_more(&self) -> bool {
        self.has_more && self.chosen + 2 * self.height.max(1) >= self.rows.len()
    }

    /// Keeps what is chosen there, and on the screen.
    fn settle(&mut self) {
        let last = self.rows.len().saturating_sub(1);
        self.chosen = if self.following { 0 } else { self.chosen.min(last) };
        let height = self.height.max(1);
        self.top = self.top.min(self.chosen).max((self.chosen + 1).saturating_sub(height));
        // No room stays free below while there are rows above.
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webhook::tui::samples::row;

    fn list(numbers: impl IntoIterator<Item = u64>) -> List {
        let mut list = List::new();
        list.resize(5);
        numbers.into_iter().for_each(|number| list.put(row(number)));
        list
    }

    fn numbers(list: &List) -> Vec<u64> {
        list.rows.iter().filter_map(|row| row.number).collect()
    }

    fn shown(list: &List) -> Vec<u64> {
        list.shown().filter_map(|(_, row)| row.number).collect()
    }

    fn chosen(list: &List) -> u64 {
        list.chosen().unwrap().number.unwrap()
    }

    #[test]
    fn rows_stand_in_their_order_whatever_order_they_come_in() {
        let list = list([3, 1, 2, 5, 4]);
        assert_eq!(numbers(&list), [5, 4, 3, 2, 1]);
        assert_eq!((chosen(&list), list.place()), (5, 1));
    }

    #[test]
    fn the_newest_is_followed_until_another_is_chosen() {
        let mut list = list(1..=10);
        list.put(row(11));
        assert_eq!(chosen(&list), 11);
        list.by(2);
        assert_eq!((chosen(&list), list.following), (9, false));
        let before = shown(&list);
        list.put(row(12));
        assert_eq!(chosen(&list), 9);
        assert_eq!(shown(&list), before, "what is read does not move");
        list.by(-100);
        assert!(list.following);
        list.put(row(13));
        assert_eq!(chosen(&list), 13);
        list.last();
        assert_eq!((chosen(&list), shown(&list)), (1, vec![5, 4, 3, 2, 1]));
        list.page(false);
        assert_eq!(chosen(&list), 5);
        list.first();
        assert_eq!((chosen(&list), shown(&list)), (13, vec![13, 12, 11, 10, 9]));
    }

    #[test]
    fn an_answer_is_not_forgotten() {
        let mut list = list([1]);
        let open = Row { answer: None, ..row(1) };
        list.put(open.clone());
        assert!(list.rows[0].answer.is_some());
        list.renew(vec![open], false);
        assert!(list.rows[0].answer.is_some());
    }

    #[test]
    fn what_is_read_anew_keeps_what_is_chosen_and_what_came_meanwhile() {
        let mut list = list(1..=20);
        list.by(12);
        assert_eq!(chosen(&list), 8);
        let before = shown(&list);
        // 21 came before the answer; 13 was removed from the store meanwhile.
        list.put(row(21));
        list.renew((10..=20).rev().filter(|number| *number != 13).map(row).collect(), true);
        assert_eq!(chosen(&list), 8);
        let expected: Vec<u64> = (1..=21).rev().filter(|number| *number != 13).collect();
        assert_eq!(numbers(&list), expected);
        assert_eq!(shown(&list), before);
        // Too many came to say what is between: the rest is read again when somebody goes there.
        list.renew((900..=1000).rev().map(row).collect(), true);
        assert_eq!((numbers(&list).len(), list.has_more), (101, true));
        list.renew(vec![row(1000)], false);
        assert_eq!(numbers(&list), [1000]);
    }

    #[test]
    fn what_goes_moves_nothing_else() {
        let mut list = list(1..=10);
        list.by(3);
        list.remove(row(9).key());
        assert_eq!(chosen(&list), 7);
        list.remove(row(7).key());
        assert_eq!(chosen(&list), 6);
        (1..=10).for_each(|number| list.remove(row(number).key()));
        assert!(list.chosen().is_none());
        assert_eq!(list.place(), 0);
    }

    #[test]
    fn memory_is_bounded() {
        let mut list = List::new();
        list.resize(5);
        let most = ROWS_MAX as u64 + 10;
        (1..=most).for_each(|number| list.put(row(number)));
        assert_eq!((list.rows.len(), list.has_more), (ROWS_MAX, true));
        assert!(!list.wants_more());
        list.last();
        assert!(list.wants_more());
        assert_eq!(list.oldest(), Some(11));
        list.extend((1..=10).rev().map(row).collect(), false);
        assert_eq!(list.oldest(), Some(1));
        assert!(!list.wants_more());
    }
}
