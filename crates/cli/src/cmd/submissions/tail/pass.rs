//! What one pass over the list finds that is new. Pure; rows go in, newest first, decisions come out.
//!
//! A pass ends at the first row that is too old to be new. Rows of the last [`LOOKBACK`] before the
//! newest are remembered by id: that tells rows apart that share a millisecond, and takes those along
//! that a service shows a little late. Nothing else is remembered, so memory is bounded by what is
//! submitted in that time.

use std::collections::HashMap;

/// How long before the newest row one may still turn up, in microseconds.
pub(in crate::cmd) const LOOKBACK: i64 = 10_000_000;

/// What earlier passes saw.
#[derive(Debug)]
pub(in crate::cmd) struct Seen {
    /// Time of the newest row so far.
    newest: Option<i64>,
    /// Older rows are not new.
    floor: i64,
    /// The rows from the floor on, and when they were made.
    ids: HashMap<Box<str>, i64>,
}

/// What the first pass shows; later ones show all that is new.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum Wanted {
    /// So many of the newest.
    Newest(u64),
    /// All newer than this one.
    After(Box<str>),
    /// All.
    All,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cmd) enum Verdict {
    Show,
    Pass,
    /// Neither it nor anything older is new: the pass is over.
    Stop,
}

/// A pass under way. It can be interrupted between two pages.
#[derive(Debug)]
pub(in crate::cmd) struct Pass {
    wanted: Option<Wanted>,
    /// Time from which rows are remembered; known with the first row.
    horizon: Option<i64>,
}

impl Seen {
    /// Nothing yet; rows made before `since` are never new.
    pub(in crate::cmd) fn nothing(since: Option<i64>) -> Self {
        Self { newest: None, floor: since.unwrap_or(i64::MIN), ids: HashMap::new() }
    }

    /// A pass is over.
    pub(in crate::cmd) fn settle(&mut self) {
        if let Some(newest) = self.newest {
            self.floor = self.floor.max(newest.saturating_sub(LOOKBACK));
        }
        let floor = self.floor;
        self.ids.retain(|_, micros| *micros >= floor);
    }
}

impl Pass {
    pub(in crate::cmd) fn new(wanted: Wanted) -> Self {
        Self { wanted: Some(wanted).filter(|wanted| *wanted != Wanted::Newest(0)), horizon: None }
    }

    /// Looks at the next row.
    pub(in crate::cmd) fn look(&mut self, seen: &mut Seen, id: &str, micros: i64) -> Verdict {
        let newest = *seen.newest.insert(seen.newest.map_or(micros, |newest| newest.max(micros)));
        let horizon = *self.horizon.get_or_insert(newest.saturating_sub(LOOKBACK));
        if matches!(&self.wanted, Some(Wanted::After(last)) if **last == *id) {
            self.wanted = None;
        }
        if micros < seen.floor || self.wanted.is_none() && micros < horizon {
            return Verdict::Stop;
        }
        let is_new = if micros >= horizon {
            seen.ids.insert(id.into(), micros).is_none()
        } else {
            !seen.ids.contains_key(id)
        };
        match &mut self.wanted {
            None => Verdict::Pass,
            Some(_) if !is_new => Verdict::Pass,
            Some(Wanted::Newest(left)) => {
                *left -= 1;
                if *left == 0 {
                    self.wanted = None;
                }
                Verdict::Show
            }
            Some(Wanted::After(_) | Wanted::All) => Verdict::Show,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const S: i64 = 1_000_000;

    /// What a pass over this list shows, oldest first.
    fn shown(seen: &mut Seen, wanted: Wanted, list: &[(String, i64)]) -> Vec<String> {
        let (mut pass, mut shown) = (Pass::new(wanted), Vec::new());
        let mut newest_first: Vec<_> = list.iter().rev().collect();
        newest_first.sort_by_key(|(_, micros)| -micros);
        for (id, micros) in newest_first {
            match pass.look(seen, id, *micros) {
                Verdict::Show => shown.push(id.clone()),
                Verdict::Pass => {}
                Verdict::Stop => break,
            }
        }
        seen.settle();
        shown.reverse();
        shown
    }

    fn list(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
        rows.iter().map(|(id, micros)| ((*id).to_owned(), *micros)).collect()
    }

    #[test]
    fn the_first_pass_shows_what_was_asked_for() {
        let rows = list(&[("a", S), ("b", 2 * S), ("c", 20 * S), ("d", 21 * S)]);
        let first = |since, wanted| shown(&mut Seen::nothing(since), wanted, &rows);
        assert_eq!(first(None, Wanted::Newest(2)), ["c", "d"]);
        assert_eq!(first(None, Wanted::Newest(3)), ["b", "c", "d"]);
        assert_eq!(first(None, Wanted::Newest(0)), [""; 0]);
        assert_eq!(first(Some(2 * S), Wanted::All), ["b", "c", "d"]);
        assert_eq!(first(Some(2 * S), Wanted::After("c".into())), ["d"]);
        assert_eq!(first(Some(2 * S), Wanted::After("gone".into())), ["b", "c", "d"]);
    }

    #[test]
    fn what_was_passed_over_at_first_does_not_come_later() {
        // All within the look-back: without their ids, they would look new.
        let mut rows = list(&[("a", S), ("b", S), ("c", S), ("d", 2 * S)]);
        for wanted in [Wanted::Newest(0), Wanted::Newest(1), Wanted::After("d".into())] {
            let mut seen = Seen::nothing(None);
            shown(&mut seen, wanted, &rows);
            assert_eq!(shown(&mut seen, Wanted::All, &rows), [""; 0]);
        }
        let mut seen = Seen::nothing(None);
        shown(&mut seen, Wanted::Newest(0), &rows);
        rows.extend(list(&[("tie", 2 * S), ("late", S), ("new", 3 * S)]));
        assert_eq!(shown(&mut seen, Wanted::All, &rows), ["late", "tie", "new"]);
    }

    #[test]
    fn a_form_that_was_empty_shows_its_first() {
        let mut seen = Seen::nothing(None);
        assert_eq!(shown(&mut seen, Wanted::Newest(0), &[]), [""; 0]);
        assert_eq!(shown(&mut seen, Wanted::All, &list(&[("a", S)])), ["a"]);
    }

    #[test]
    fn memory_is_bounded_by_the_look_back() {
        let rows: Vec<_> = (0..10_000).map(|n| (n.to_string(), n * S)).collect();
        let mut seen = Seen::nothing(None);
        assert_eq!(shown(&mut seen, Wanted::All, &rows).len(), 10_000);
        assert_eq!(seen.ids.len(), 11);
    }

    proptest! {
        /// Each row comes later than those before it by up to a few seconds, or turns up late by less
        /// than the look-back; some polls see several, some none.
        #[test]
        fn every_row_is_shown_once_and_each_batch_in_order(
            steps in prop::collection::vec((0_i64..4 * S, 0_i64..LOOKBACK, any::<bool>()), 0..60),
        ) {
            let (mut seen, mut rows, mut clock) = (Seen::nothing(None), Vec::new(), 100 * S);
            let mut all = shown(&mut seen, Wanted::All, &rows);
            for (at, (step, late, poll)) in steps.iter().enumerate() {
                // Whole milliseconds, so that there are ties.
                clock += step / 500_000 * 500_000;
                let made = if at % 5 == 4 { clock - late } else { clock };
                rows.push((format!("r{at}"), made));
                if *poll {
                    let batch = shown(&mut seen, Wanted::All, &rows);
                    let time = |id: &String| rows.iter().find(|row| row.0 == *id).unwrap().1;
                    prop_assert!(batch.iter().map(time).is_sorted());
                    all.extend(batch);
                }
            }
            all.extend(shown(&mut seen, Wanted::All, &rows));
            let mut expected: Vec<_> = rows.iter().map(|row| row.0.clone()).collect();
            all.sort();
            expected.sort();
            prop_assert_eq!(all, expected);
        }
    }
}
