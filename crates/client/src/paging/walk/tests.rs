use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::completeness::CursorUnit;

impl Walk {
    /// Takes the response to the last request, with the id and the time of each row.
    pub(in crate::paging) fn accept<'r>(
        &mut self,
        rows: impl Iterator<Item = (&'r str, i64)>,
        pagination: &Pagination,
    ) -> PageOutcome {
        let rows = rows.map(|(id, time)| WalkRow { key: RowKey::of_id(id), time });
        self.accept_rows(&rows.collect::<Vec<_>>(), pagination)
    }
}

/// A page: the numbers of its rows, and the next cursor. A row's number determines its id and its
/// time, which three rows share.
#[derive(Clone, Debug)]
struct Page {
    rows: Vec<u32>,
    next: Option<u8>,
    has_more: bool,
}

fn time(row: u32) -> i64 {
    -i64::from(row / 3)
}

fn key(id: &str) -> RowKey {
    RowKey::of_id(id)
}

fn page(rows: &[u32], next: u8) -> Page {
    Page { rows: rows.to_vec(), next: Some(next), has_more: true }
}

fn last(rows: &[u32]) -> Page {
    Page { rows: rows.to_vec(), next: None, has_more: false }
}

/// A walk from the newest row that knows these rows.
fn resumed(rows: &[u32]) -> Walk {
    let seen = rows.iter().map(|row| key(&format!("sub_{row}"))).collect();
    let seen_oldest = rows.iter().map(|row| time(*row)).min();
    Walk::resume(WalkState { seen, seen_oldest, ..WalkState::default() })
}

fn accept(walk: &mut Walk, page: &Page) -> (Vec<u32>, NextStep) {
    let ids: Vec<String> = page.rows.iter().map(|row| format!("sub_{row}")).collect();
    let rows = ids.iter().map(String::as_str).zip(page.rows.iter().map(|row| time(*row)));
    let next_cursor = page.next.map(|next| Cursor::new(next.to_string()));
    let outcome = walk.accept(rows, &Pagination { next_cursor, has_more: page.has_more });
    (outcome.new_rows.iter().map(|at| page.rows[*at]).collect(), outcome.next)
}

/// Feeds pages until the walk ends.
fn walk(pages: &[Page]) -> (Vec<u32>, NextStep) {
    let mut walk = Walk::new(None);
    let mut all = Vec::new();
    for page in pages {
        let (rows, next) = accept(&mut walk, page);
        all.extend(rows);
        if next != NextStep::Continue {
            return (all, next);
        }
    }
    (all, NextStep::Continue)
}

fn any_page() -> impl Strategy<Value = Page> {
    let rows = prop::collection::vec(0_u32..30, 0..8);
    let sorted = any::<bool>();
    (rows, sorted, prop::option::weighted(0.95, any::<u8>()), prop::bool::weighted(0.9)).prop_map(
        |(mut rows, sorted, next, has_more)| {
            if sorted {
                rows.sort_unstable();
            }
            Page { rows, next, has_more }
        },
    )
}

/// A list in irregular pages: some pages empty, some repeating the end of
/// the page before.
fn irregular_list() -> impl Strategy<Value = (u32, Vec<Page>)> {
    let cuts = prop::collection::vec((0_u32..7, 0_u32..7), 1..40);
    cuts.prop_map(|cuts| {
        let (mut at, mut start_before, mut pages) = (0, 0, Vec::new());
        for (number, (fresh, again)) in (0_u8..).zip(cuts) {
            let from = at.max(again) - again;
            // Only rows of the page before may be repeated.
            let from = from.max(start_before);
            if fresh > 0 {
                pages.push(page(&(from..at + fresh).collect::<Vec<_>>(), number));
                (start_before, at) = (from, at + fresh);
            } else {
                pages.push(page(&[], number));
            }
        }
        pages.push(last(&[]));
        (at, pages)
    })
}

proptest! {
    #[test]
    fn any_pages_yield_each_id_once(
        pages in prop::collection::vec(any_page(), 1..30),
    ) {
        let (rows, next) = walk(&pages);
        let once: BTreeSet<_> = rows.iter().copied().collect();
        prop_assert_eq!(once.len(), rows.len(), "{:?}", rows);
        if next == NextStep::Finished {
            let until = pages.iter().position(|page| !page.has_more).unwrap();
            let all: BTreeSet<_> = pages[..=until].iter().flat_map(|p| p.rows.clone()).collect();
            prop_assert_eq!(once, all);
        }
    }

    #[test]
    fn irregular_pages_are_read_in_order((rows, pages) in irregular_list()) {
        prop_assert_eq!(walk(&pages), ((0..rows).collect(), NextStep::Finished));
    }

    #[test]
    fn resume_at_any_row_equals_uninterrupted_walk(
        (rows, pages) in irregular_list(),
        stops in prop::collection::vec(0_usize..12, 1..6),
    ) {
        let mut all = Vec::new();
        let mut state = WalkState::default();
        for stop in stops {
            let mut walk = Walk::resume(state);
            let mut left = stop;
            loop {
                let at = walk.cursor().map_or(0, |c| c.as_str().parse::<usize>().unwrap() + 1);
                let before = walk.state();
                let (kept, next) = accept(&mut walk, &pages[at]);
                if kept.len() > left {
                    // Stops within this page.
                    all.extend(&kept[..left]);
                    let yielded = kept[..left].iter().map(|row| key(&format!("sub_{row}")));
                    let last = kept[..left].last().map(|row| time(*row));
                    state = before;
                    state.seen.extend(yielded);
                    state.seen_oldest = state.seen_oldest.into_iter().chain(last).min();
                    break;
                }
                left -= kept.len();
                all.extend(kept);
                if next == NextStep::Finished {
                    prop_assert_eq!(all, (0..rows).collect::<Vec<_>>());
                    return Ok(());
                }
                prop_assert_eq!(next, NextStep::Continue);
            }
        }
        let read = u32::try_from(all.len()).unwrap();
        prop_assert_eq!(all, (0..read).collect::<Vec<_>>());
    }
}

#[test]
fn empty_page_continues() {
    let pages = [page(&[0], 1), page(&[], 2), page(&[], 3), last(&[5])];
    assert_eq!(walk(&pages), (vec![0, 5], NextStep::Finished));
}

#[test]
fn missing_cursor_is_stuck_after_rows() {
    let pages = [page(&[0], 1), Page { rows: vec![3], next: None, has_more: true }];
    assert_eq!(walk(&pages), (vec![0, 3], NextStep::Failed(PagingError::Stuck(NO_CURSOR))));
}

#[test]
fn repeated_cursor_is_stuck() {
    let pages = [page(&[0], 1), page(&[3], 1)];
    assert_eq!(walk(&pages), (vec![0, 3], NextStep::Failed(PagingError::Stuck(CIRCLE))));
}

#[test]
fn cursor_circle_without_new_rows_is_stuck() {
    let pages = [page(&[0], 1), page(&[0], 2), page(&[0], 3), page(&[0], 1)];
    assert_eq!(walk(&pages), (vec![0], NextStep::Failed(PagingError::Stuck(CIRCLE))));
}

#[test]
fn hundred_pages_without_new_row_are_stuck() {
    let idle: Vec<Page> = (1..=150).map(|next| page(&[], next)).collect();
    let mut walk = Walk::new(None);
    let ended = idle.iter().position(|page| accept(&mut walk, page).1 != NextStep::Continue);
    assert_eq!(ended, Some(MAX_IDLE_PAGES - 1));
    let mut busy = idle.clone();
    busy[60] = page(&[0], 61);
    let mut walk = Walk::new(None);
    let ended = busy.iter().position(|page| accept(&mut walk, page).1 != NextStep::Continue);
    assert_eq!(ended, None.or(Some(60 + MAX_IDLE_PAGES)).filter(|at| *at < busy.len()));
}

#[test]
fn newer_row_ends_walk_after_good_rows() {
    let pages = [page(&[6, 7, 0, 9], 1)];
    assert_eq!(walk(&pages), (vec![6, 7], NextStep::Failed(PagingError::OutOfOrder(2))));
    // Also when it comes a page later.
    let pages = [page(&[6, 7], 1), page(&[9, 0], 2)];
    assert_eq!(walk(&pages), (vec![6, 7, 9], NextStep::Failed(PagingError::OutOfOrder(1))));
}

#[test]
fn ties_across_pages_are_not_repeated() {
    // Rows 3, 4 and 5 share a time; row 3 comes again two pages later.
    let pages = [page(&[0, 3], 1), page(&[4], 2), page(&[5], 3), last(&[3, 4, 6])];
    assert_eq!(walk(&pages), (vec![0, 3, 4, 5, 6], NextStep::Finished));
}

#[test]
fn resumed_rows_moved_by_new_rows_not_repeated() {
    // Before the stop the newest page was 10, 11, 12; now 0 and 1 came on top of it.
    let mut walk = resumed(&[10, 11]);
    assert_eq!(accept(&mut walk, &page(&[0, 1, 10], 1)), (vec![0, 1], NextStep::Continue));
    assert_eq!(accept(&mut walk, &last(&[11, 12, 13])), (vec![12, 13], NextStep::Finished));
}

#[test]
fn known_last_row_is_the_oldest_of_the_position() {
    // The token's rows end the page, so the cursor is the time of row 11 and not of row 1.
    let mut walk = resumed(&[10, 11]);
    assert_eq!(accept(&mut walk, &page(&[0, 1, 10, 11], 1)), (vec![0, 1], NextStep::Continue));
    assert_eq!(walk.position().oldest, Some(time(11)));
}

#[test]
fn resumed_ids_are_dropped_when_passed() {
    let mut walk = resumed(&[0]);
    accept(&mut walk, &page(&[0, 3], 1));
    accept(&mut walk, &page(&[6], 2));
    accept(&mut walk, &page(&[9], 3));
    assert_eq!(walk.state().seen, [key("sub_9")]);
}

/// Reads pages of 100 rows with one time until the walk ends, at most 40 pages.
fn read_one_time(walk: &mut Walk, first_page: usize) -> (usize, NextStep, Option<PagingWarning>) {
    let (mut rows, mut warning) = (0, None);
    for page in first_page..first_page + 40 {
        let ids: Vec<String> = (0..100).map(|n| format!("sub_{page}_{n}")).collect();
        let pagination = Pagination {
            next_cursor: Some(Cursor::new((page + 1).to_string())),
            has_more: page < first_page + 39,
        };
        let outcome = walk.accept(ids.iter().map(|id| (id.as_str(), 7_000)), &pagination);
        rows += outcome.new_rows.len();
        warning =
            warning.or(outcome.warning.filter(|w| matches!(w, PagingWarning::TieOverflow(_))));
        if outcome.next != NextStep::Continue {
            return (rows, outcome.next, warning);
        }
    }
    (rows, NextStep::Continue, warning)
}

fn limited_walk() -> Walk {
    Walk { max_tied: 1_000, ..Walk::new(None) }
}

#[test]
fn rows_of_one_time_over_the_limit_are_an_error() {
    let mut walk = limited_walk();
    let overflow = TieOverflow { unit: CursorUnit::Millisecond, start: 7_000, rows: 1_100 };
    let failed = NextStep::Failed(PagingError::TooManyTies(overflow));
    assert_eq!(read_one_time(&mut walk, 0), (1_100, failed, None));
    // A token before the last page does not forget how many there were.
    let mut state = walk.state();
    state.position.tied = 1_000;
    let mut resumed = Walk { max_tied: 1_000, ..Walk::resume(state) };
    assert!(matches!(
        read_one_time(&mut resumed, 10),
        (100, NextStep::Failed(PagingError::TooManyTies(_)), None)
    ));
}

#[test]
fn allowed_rows_of_one_time_are_read_and_reported_once() {
    let mut walk = limited_walk();
    walk.set_allow_incomplete(true);
    let overflow = TieOverflow { unit: CursorUnit::Millisecond, start: 7_000, rows: 1_100 };
    let warning = Some(PagingWarning::TieOverflow(overflow));
    assert_eq!(read_one_time(&mut walk, 0), (4_000, NextStep::Finished, warning));
    assert_eq!(walk.tie_overflows(), [overflow]);
    assert_eq!(walk.completeness(), Completeness::Incomplete);
}

#[test]
fn token_of_many_rows_of_one_time_stays_short() {
    let mut walk = Walk::new(None);
    read_one_time(&mut walk, 0);
    assert_eq!(walk.state().seen.len(), 200);
    assert_eq!(walk.position().tied, 4_000);
}
